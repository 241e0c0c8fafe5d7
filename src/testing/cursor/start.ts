import { fileURLToPath } from "node:url";
import type { CursorScript } from "./script.js";

/** What a scripted program does; goes into the environment of its agent. */
export interface ScriptedCursorOptions {
  /** Default: it delegates the prompt and repeats the summary. */
  readonly script?: CursorScript;
  /** File that gets what the program received, one JSON line each. */
  readonly trace?: string;
  /** Milliseconds between two words. Default none. */
  readonly paceMs?: number;
}

/**
 * The command of a program that speaks the stream that Cursor documents and says what a script tells it to, for the driver's option
 * `executable`. It is started from the built package, so `npm run build` comes first.
 */
export function scriptedCursor(): readonly [string, ...string[]] {
  const here = fileURLToPath(new URL("./scripted-cursor.js", import.meta.url));
  return [process.execPath, here.replace(/([\\/])src([\\/]testing[\\/]cursor[\\/])(?=[^\\/]*$)/, "$1dist$2")];
}

/** The variables that tell the program of {@link scriptedCursor} what to do. */
export function scriptedCursorEnvironment(options: ScriptedCursorOptions): Record<string, string> {
  return {
    ...(options.script && { TROUPE_SCRIPT_JSON: JSON.stringify(options.script) }),
    ...(options.trace !== undefined && { TROUPE_TRACE: options.trace }),
    ...(options.paceMs !== undefined && { TROUPE_PACE_MS: String(options.paceMs) }),
  };
}
