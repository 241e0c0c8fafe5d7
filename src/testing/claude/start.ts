import { fileURLToPath } from "node:url";
import type { Script } from "./script.js";

/** What a scripted program does; goes into the environment of its agent. */
export interface ScriptedClaudeOptions {
  /** Default: the script of the demo. */
  readonly script?: Script;
  /** File that gets what the program received, one JSON line each. */
  readonly trace?: string;
  /** Milliseconds between two words. Default none. */
  readonly paceMs?: number;
  /** Speak MCP as before 2026-07-28. */
  readonly legacy?: boolean;
}

/**
 * The command of a program that speaks Claude Code's protocol and says what a script tells it to, for the driver's option
 * `executable`. It is started from the built package, so `npm run build` comes first.
 */
export function scriptedClaude(): readonly [string, ...string[]] {
  const here = fileURLToPath(new URL("./scripted-claude.js", import.meta.url));
  return [process.execPath, here.replace(/([\\/])src([\\/]testing[\\/]claude[\\/])(?=[^\\/]*$)/, "$1dist$2")];
}

/** The variables that tell the program of {@link scriptedClaude} what to do. */
export function scriptedClaudeEnvironment(options: ScriptedClaudeOptions): Record<string, string> {
  return {
    ...(options.script && { TROUPE_SCRIPT_JSON: JSON.stringify(options.script) }),
    ...(options.trace !== undefined && { TROUPE_TRACE: options.trace }),
    ...(options.paceMs !== undefined && { TROUPE_PACE_MS: String(options.paceMs) }),
    ...(options.legacy && { MCP_PROTOCOL_NEGOTIATION: "legacy" }),
  };
}
