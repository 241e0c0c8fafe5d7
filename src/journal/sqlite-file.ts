import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Database } from "better-sqlite3";
import { type Clock, sleep, systemClock } from "../core/clock.js";
import { JournalError, toJournalError } from "./journal-error.js";
import { loadSqlite, type SqliteModule } from "./sqlite-module.js";
import { migrate, requireVersion } from "./sqlite-schema.js";

/** How a journal's file is opened. */
export interface SqliteFileOptions {
  /** Path of the database. It and its folder are made when they are missing, readable by nobody else. */
  readonly file: string;
  /**
   * What an append promises once it resolves. `process` (default): the entry outlives the end of this process, however it
   * comes; `machine`: it outlives a power cut as well, at the price of waiting for the disk. The file stays whole either way.
   */
  readonly durability?: "process" | "machine";
  /** Open what exists, and change nothing. */
  readonly readOnly?: boolean;
  /** Bytes that the file may have; beyond it appends are refused with `journal_full`. Without end by default. */
  readonly maxBytes?: number;
  /** How long another process may keep the file locked until a write fails, in milliseconds. Default 10,000. */
  readonly lockTimeoutMs?: number;
  readonly clock?: Clock;
}

/** While SQLite itself waits for a lock, nothing else runs in this process. */
const BLOCKING_WAIT_MS = 20;
/** Between two attempts to write to a file that another process has locked. */
export const LOCK_RETRY_MS = 10;
/** Opening happens once, and may meet another process that recovers the file. */
const OPEN_WAIT_MS = 5_000;

/** An open database of a journal. */
export class SqliteFile {
  #closed = false;

  constructor(
    readonly path: string,
    readonly database: Database,
    readonly Sqlite: SqliteModule,
    readonly clock: Clock,
    readonly readOnly: boolean,
    readonly lockTimeoutMs: number,
  ) {}

  /**
   * Makes one change as a whole, waiting for other processes without blocking this one.
   * @throws JournalError.
   */
  async write<Result>(change: () => Result): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return this.writeNow(change);
      } catch (error) {
        const failure = toJournalError(error, this.path);
        if (failure.code !== "journal_locked" || this.isTooLong(attempt)) throw failure;
        await sleep(this.clock, LOCK_RETRY_MS);
      }
    }
  }

  /** Whether the file was locked for too long. Counted in attempts, since the time of day may jump. */
  isTooLong(attempts: number): boolean {
    return attempts * (BLOCKING_WAIT_MS + LOCK_RETRY_MS) >= this.lockTimeoutMs;
  }

  /** As {@link write}, but fails at once when another process writes. */
  writeNow<Result>(change: () => Result): Result {
    this.requireOpen();
    return this.database.transaction(change).immediate();
  }

  /** Makes what another error is into a {@link JournalError}. */
  read<Result>(query: () => Result): Result {
    this.requireOpen();
    try {
      return query();
    } catch (error) {
      throw toJournalError(error, this.path);
    }
  }

  requireOpen(): void {
    if (this.#closed) throw new JournalError("journal_closed", `The journal ${this.path} is closed.`);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.database.close();
  }
}

/**
 * Opens a journal's file, and brings it to the newest version.
 * @throws JournalError which says what to do.
 */
export async function openSqliteFile(options: SqliteFileOptions): Promise<SqliteFile> {
  const Sqlite = await loadSqlite();
  const path = resolve(options.file);
  const readOnly = options.readOnly ?? false;
  if (readOnly && !existsSync(path))
    throw new JournalError("journal_unreadable", `There is no journal ${path}. Name another file.`);
  let database: Database | undefined;
  try {
    if (!readOnly) makePrivate(path);
    database = new Sqlite(path, { readonly: readOnly, fileMustExist: readOnly, timeout: OPEN_WAIT_MS });
    if (readOnly) requireVersion(database, path);
    else prepare(database, path, options);
    database.pragma(`busy_timeout = ${BLOCKING_WAIT_MS}`);
  } catch (error) {
    database?.close();
    throw toJournalError(error, path);
  }
  const { clock = systemClock, lockTimeoutMs = 10_000 } = options;
  return new SqliteFile(path, database, Sqlite, clock, readOnly, lockTimeoutMs);
}

function prepare(database: Database, path: string, { durability, maxBytes }: SqliteFileOptions): void {
  // Before anything is changed: it may be somebody else's file.
  migrate(database, path);
  // Readers and the one writer do not wait for each other. In this mode NORMAL loses nothing when a process is killed, and after
  // a power cut at most the newest transactions, never the file.
  database.pragma("journal_mode = WAL");
  database.pragma(`synchronous = ${durability === "machine" ? "FULL" : "NORMAL"}`);
  if (maxBytes === undefined) return;
  const pageSize = Number(database.pragma("page_size", { simple: true }));
  database.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
}

/** SQLite gives its other files the permissions of the first. */
function makePrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, "a", 0o600));
}
