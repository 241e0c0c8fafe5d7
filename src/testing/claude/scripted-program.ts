import { fileURLToPath } from "node:url";
import type { Script } from "./script.js";

/** Options of {@link scriptedClaude}. */
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

/** How to start the scripted program in place of Claude Code. */
export interface ScriptedProgram {
  /** For the driver's option `executable`. */
  readonly executable: readonly [string, ...string[]];
  /** For the environment of the agent. */
  readonly env: Readonly<Record<string, string>>;
}

/** Makes the command of the scripted program. It is started from the built package, so `npm run build` comes first. */
export function scriptedClaude(options: ScriptedClaudeOptions = {}): ScriptedProgram {
  const file = fileURLToPath(new URL("./scripted-claude.js", import.meta.url)).replace(
    /([\\/])src([\\/]testing[\\/]claude[\\/]scripted-claude\.js)$/,
    "$1dist$2",
  );
  return {
    executable: [process.execPath, file],
    env: {
      ...(options.script && { TROUPE_SCRIPT_JSON: JSON.stringify(options.script) }),
      ...(options.trace !== undefined && { TROUPE_TRACE: options.trace }),
      ...(options.paceMs !== undefined && { TROUPE_PACE_MS: String(options.paceMs) }),
      ...(options.legacy && { MCP_PROTOCOL_NEGOTIATION: "legacy" }),
    },
  };
}
