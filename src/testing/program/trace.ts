import { appendFileSync } from "node:fs";

/** Writes what the scripted program received, one JSON line each. */
export type Trace = (entry: Readonly<Record<string, unknown>>) => void;

/** Appends to `file`; writes nothing without one. Synchronous, so that a line is there even when the program is killed next. */
export function createTrace(file: string | undefined): Trace {
  if (file === undefined || file === "") return () => {};
  return (entry) => appendFileSync(file, `${JSON.stringify(entry)}\n`);
}
