import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { TroupeError } from "../core/errors.js";

/** Longest file of ours that is read, in bytes. */
const MAX_BYTES = 65_536;

/** The folder of a workspace in which Troupe keeps its own files. */
export function troupeFolder(workspace: string): string {
  return join(workspace, ".troupe");
}

/** Makes the folder of {@link troupeFolder}. What people ask and agents answer does not belong into a repository. */
export function makeTroupeFolder(workspace: string): string {
  const folder = troupeFolder(workspace);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ignore = join(folder, ".gitignore");
  if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
  return folder;
}

/**
 * Reads a file that only its owner may read and write. What comes with a repository is never such a file: version control keeps
 * no such mode, and a link is not followed.
 * @returns `undefined` when there is none.
 * @throws TroupeError `invalid_input` when others may read or change it.
 */
export function readPrivateFile(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(
      file,
      constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
    );
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw notPrivate(file, error);
  }
  try {
    const { mode, uid, size } = fstatSync(descriptor);
    const regular = (mode & constants.S_IFMT) === constants.S_IFREG;
    const open = process.platform !== "win32" && ((mode & 0o077) !== 0 || uid !== process.getuid?.());
    if (!regular || open || size > MAX_BYTES) throw notPrivate(file);
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a file that only its owner may read, whole or not at all. */
export function writePrivateFile(file: string, content: string): void {
  const written = writeBeside(file, content);
  try {
    renameSync(written, file);
  } catch (error) {
    rmSync(written, { force: true });
    throw error;
  }
}

/** As {@link writePrivateFile}, but never over what is there. @returns whether it was written. */
export function createPrivateFile(file: string, content: string): boolean {
  const written = writeBeside(file, content);
  try {
    linkSync(written, file);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(written, { force: true });
  }
}

function writeBeside(file: string, content: string): string {
  const written = join(dirname(file), `.${randomBytes(8).toString("hex")}.tmp`);
  writeFileSync(written, content, { mode: 0o600, flag: "wx" });
  return written;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}

function notPrivate(file: string, cause?: unknown): TroupeError {
  return new TroupeError(
    "invalid_input",
    `${file} is not used: it has to be a file of yours that nobody else may read (mode 0600). Remove it, and start again.`,
    { cause },
  );
}
