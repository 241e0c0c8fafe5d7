import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What everyone on the machine, or every program of this user, can see of a process. */
export interface VisibleProcess {
  readonly pid: number;
  readonly commandLine: string;
  readonly environment: string;
}

/** The processes of these groups, where the system tells (Linux); empty elsewhere. */
export function processesOf(groups: readonly number[]): VisibleProcess[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // The name in parentheses may hold anything, spaces too.
      const [, , group] = readFileSync(`/proc/${name}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
      if (!groups.includes(Number(group))) return [];
      const [commandLine = "", environment = ""] = ["cmdline", "environ"].map((file) =>
        readFileSync(`/proc/${name}/${file}`, "latin1"),
      );
      return [{ pid: Number(name), commandLine, environment }];
    } catch {
      // It has gone meanwhile.
      return [];
    }
  });
}

/** Files below `directory` that hold `text`. */
export function filesHolding(directory: string, text: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    if (!entry.isFile()) return [];
    const file = join(entry.parentPath, entry.name);
    return readFileSync(file, "latin1").includes(text) ? [file] : [];
  });
}
