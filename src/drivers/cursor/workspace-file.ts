import {
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";

/** The text of a file; `undefined` when there is none. */
export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Replaces a file at once, so that nobody reads half of it. It keeps its mode, and a link to it stays a link. */
export function writeText(file: string, text: string, mode = 0o644): void {
  const target = existsSync(file) ? realpathSync(file) : file;
  const kept = statSync(target, { throwIfNoEntry: false })?.mode;
  const draft = `${target}.${process.pid}.draft`;
  writeFileSync(draft, text, { mode: kept === undefined ? mode : kept & 0o777 });
  renameSync(draft, target);
}

export function removeFolderIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Somebody has put something into it.
  }
}
