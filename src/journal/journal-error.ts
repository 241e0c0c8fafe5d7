import { errorText, TroupeError } from "../core/errors.js";

/** Why a journal on disk cannot be opened, written or read. */
export type JournalErrorCode =
  | "journal_module_missing"
  | "journal_module_unusable"
  | "journal_unreadable"
  | "journal_newer"
  | "journal_read_only"
  | "journal_full"
  | "journal_corrupt"
  | "journal_locked"
  | "journal_unavailable"
  | "journal_closed"
  /** Another host may know, and did not answer. */
  | "host_silent"
  /** A run of another host is open in the thread. */
  | "thread_busy"
  /** Another host took this one for dead and has taken the run or the delegation over, or the run was never begun. */
  | "taken_over"
  | "journal_failed";

/** An error of a journal on disk. */
export class JournalError extends TroupeError<JournalErrorCode> {
  constructor(
    code: JournalErrorCode,
    message: string,
    options: { retryable?: boolean; cause?: unknown } = {},
  ) {
    super(code, message, options);
    this.name = "JournalError";
  }
}

interface Meaning {
  readonly codes: RegExp;
  readonly code: JournalErrorCode;
  readonly retryable?: boolean;
  message(file: string): string;
}

/** Codes of SQLite and of the file system; see https://www.sqlite.org/rescode.html. */
const MEANINGS: readonly Meaning[] = [
  {
    codes: /^SQLITE_(?:BUSY|LOCKED)/,
    code: "journal_locked",
    retryable: true,
    message: (file) => `The journal ${file} is locked by another process for too long.`,
  },
  {
    codes: /^SQLITE_FULL|^ENOSPC$|^EDQUOT$/,
    code: "journal_full",
    retryable: true,
    message: (file) => `There is no room left for the journal ${file}. Free some, or let it grow further.`,
  },
  {
    codes: /^SQLITE_READONLY|^EROFS$/,
    code: "journal_read_only",
    message: (file) =>
      `The journal ${file} can be read but not written. Check its permissions and its folder's.`,
  },
  {
    codes: /^SQLITE_NOTADB/,
    code: "journal_unreadable",
    message: (file) => `${file} is no SQLite database. Name another file.`,
  },
  {
    codes: /^SQLITE_CORRUPT/,
    code: "journal_corrupt",
    message: (file) => `The journal ${file} is damaged. Move it away, or restore it from a backup.`,
  },
  {
    codes: /^SQLITE_(?:CANTOPEN|PERM|AUTH)|^(?:EACCES|EPERM|ENOENT|ENOTDIR|EISDIR|EEXIST)$/,
    code: "journal_unreadable",
    message: (file) =>
      `The journal ${file} cannot be opened. Check that it exists and may be read and written.`,
  },
];

/** Gives an error of SQLite or of the file system its meaning; errors that have one stay as they are. */
export function toJournalError(error: unknown, file: string): JournalError {
  if (error instanceof JournalError) return error;
  const code = codeOf(error);
  const meaning = MEANINGS.find(({ codes }) => codes.test(code));
  if (meaning === undefined)
    return new JournalError("journal_failed", `The journal ${file} failed: ${errorText(error)}`, {
      cause: error,
    });
  const { message, retryable = false } = meaning;
  return new JournalError(meaning.code, message(file), { retryable, cause: error });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
