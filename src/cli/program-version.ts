import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { type Clock, withinTime } from "../core/clock.js";
import { startOf } from "../core/text.js";
import { Program } from "../drivers/process/program.js";
import { clean } from "./tree/render.js";

/** Milliseconds that a program gets to tell its version; Node programs take a second or two on a busy machine. */
const VERSION_MS = 10_000;
/** Characters of a version that are shown. */
const MAX_VERSION = 60;

/** What a program said of itself. */
export type ToldVersion = { readonly version: string } | { readonly problem: string };

/**
 * Where a program is: `name` itself when it is a path, else the first executable file of that name on `path`.
 * @returns `undefined` when there is none that may be executed.
 */
export function findProgram(name: string, path: string, folder: string): string | undefined {
  if (isAbsolute(name) || /[\\/]/.test(name)) return executable(resolve(folder, name));
  const endings = process.platform === "win32" ? [".exe", ".cmd", ""] : [""];
  for (const place of path.split(delimiter))
    for (const ending of endings) {
      const found = place === "" ? undefined : executable(join(place, name + ending));
      if (found !== undefined) return found;
    }
  return undefined;
}

/** Asks a program for its version (`--version`), for a bounded time. Whatever it starts ends with it. */
export async function askVersion(
  command: readonly [string, ...string[]],
  {
    env,
    cwd,
    clock,
  }: { readonly env: Readonly<Record<string, string>>; readonly cwd: string; readonly clock: Clock },
): Promise<ToldVersion> {
  const lines: string[] = [];
  const told = (line: string) => {
    if (lines.length < 20) lines.push(line);
  };
  const program = new Program({
    command: [...command, "--version"],
    cwd,
    env,
    clock,
    maxLineBytes: 65_536,
    onValue: (_value, line) => told(line),
    onGarbage: told,
    onStderr: () => undefined,
    onFault: () => undefined,
  });
  program.endInput();
  const exit = await withinTime(clock, VERSION_MS, program.exited);
  if (exit === undefined) {
    await program.end({ inputMs: 0, terminateMs: 500 });
    return { problem: `it did not tell its version within ${VERSION_MS / 1_000} s` };
  }
  if (exit.error !== undefined) return { problem: exit.error.message };
  const version = lines.map(versionIn).find((found) => found !== undefined);
  if (exit.code === 0 && version !== undefined) return { version };
  const words = shown(exit.stderr.trim().split("\n").at(-1) ?? "");
  const how = exit.signal === null ? `exit code ${exit.code}` : String(exit.signal);
  return { problem: `\`--version\` did not work (${how})${words === "" ? "" : `: ${words}`}` };
}

function versionIn(line: string): string | undefined {
  const [found] = /\d+\.\d+(?:\.\d+)?(?:[-+][0-9A-Za-z.-]+)?/.exec(line) ?? [];
  return found === undefined ? undefined : shown(found);
}

function shown(text: string): string {
  return startOf(clean(text), MAX_VERSION);
}

function executable(file: string): string | undefined {
  try {
    if (!statSync(file).isFile()) return undefined;
    accessSync(file, constants.X_OK);
    return file;
  } catch {
    return undefined;
  }
}
