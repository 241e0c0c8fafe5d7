import type { Driver } from "../core/driver.js";
import { gemini, openCode } from "../drivers/acp/presets.js";
import { claude } from "../drivers/claude/claude.js";
import { codex } from "../drivers/codex/codex.js";
import { LEAST_VERSION } from "../drivers/codex/protocol.js";
import { cursor } from "../drivers/cursor/cursor.js";
import { DRIVERS } from "./choices.js";

/** A program that Troupe can drive, and how a person gets it. */
export interface KnownProgram {
  /** Its usual name on the `PATH`. */
  readonly command: string;
  /** Another name that it has. */
  readonly otherwise?: string;
  readonly driver: Driver;
  /** What to do when it is not there. */
  readonly install: string;
  /** What to do when it is too old. */
  readonly update: string;
  /** The oldest version that the driver takes. */
  readonly oldest?: string;
}

const npm = (name: string) => ({
  install: `npm install -g ${name}`,
  update: `npm install -g ${name}@latest`,
});

/** All programs that `troupe agents` looks for, in the order in which it lists them. */
export function knownPrograms(): readonly KnownProgram[] {
  const programs: Readonly<Record<(typeof DRIVERS)[number], KnownProgram>> = {
    claude: { command: "claude", driver: claude(), ...npm("@anthropic-ai/claude-code") },
    codex: { command: "codex", driver: codex(), ...npm("@openai/codex"), oldest: LEAST_VERSION },
    gemini: { command: "gemini", driver: gemini(), ...npm("@google/gemini-cli") },
    opencode: { command: "opencode", driver: openCode(), ...npm("opencode-ai") },
    cursor: {
      command: "cursor-agent",
      otherwise: "agent",
      driver: cursor(),
      install: "see https://cursor.com/cli",
      update: "cursor-agent update",
    },
  };
  return DRIVERS.map((name) => programs[name]);
}
