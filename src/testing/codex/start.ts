import { fileURLToPath } from "node:url";
import type { CodexScript } from "./script.js";

/** What a scripted program does; goes into the environment of its agent. */
export interface ScriptedCodexOptions {
  /** Default: it delegates the prompt and repeats the summary. */
  readonly script?: CodexScript;
  /** File that gets what the program received, one JSON line each. */
  readonly trace?: string;
  /** Milliseconds between two words. Default none. */
  readonly paceMs?: number;
}

/**
 * The command of a program that speaks the protocol of Codex's app-server and says what a script tells it to, for the driver's
 * option `executable`. It is started from the built package, so `npm run build` comes first.
 */
export function scriptedCodex(): readonly [string, ...string[]] {
  const here = fileURLToPath(new URL("./scripted-codex.js", import.meta.url));
  return [process.execPath, here.replace(/([\\/])src([\\/]testing[\\/]codex[\\/])(?=[^\\/]*$)/, "$1dist$2")];
}

/** The variables that tell the program of {@link scriptedCodex} what to do. */
export function scriptedCodexEnvironment(options: ScriptedCodexOptions): Record<string, string> {
  return {
    ...(options.script && { TROUPE_SCRIPT_JSON: JSON.stringify(options.script) }),
    ...(options.trace !== undefined && { TROUPE_TRACE: options.trace }),
    ...(options.paceMs !== undefined && { TROUPE_PACE_MS: String(options.paceMs) }),
  };
}
