import { fileURLToPath } from "node:url";
import type { AcpScript } from "./script.js";

/** What a scripted agent does; goes into the environment of its agent. */
export interface ScriptedAcpOptions {
  /** Default: it delegates the prompt and repeats the summary. */
  readonly script?: AcpScript;
  /** File that gets what the program received, one JSON line each. */
  readonly trace?: string;
  /** Milliseconds between two words. Default none. */
  readonly paceMs?: number;
}

/**
 * The command of an agent that is built with the protocol's own SDK and says what a script tells it to, for `acp({ command, args })`
 * or the option `executable` of a preset. It is started from the built package, so `npm run build` comes first.
 */
export function scriptedAcp(): readonly [string, ...string[]] {
  const here = fileURLToPath(new URL("./scripted-acp.js", import.meta.url));
  return [process.execPath, here.replace(/([\\/])src([\\/]testing[\\/]acp[\\/])(?=[^\\/]*$)/, "$1dist$2")];
}

/** The variables that tell the program of {@link scriptedAcp} what to do. */
export function scriptedAcpEnvironment(options: ScriptedAcpOptions): Record<string, string> {
  return {
    ...(options.script && { TROUPE_SCRIPT_JSON: JSON.stringify(options.script) }),
    ...(options.trace !== undefined && { TROUPE_TRACE: options.trace }),
    ...(options.paceMs !== undefined && { TROUPE_PACE_MS: String(options.paceMs) }),
  };
}
