import type { Database } from "better-sqlite3";
import { JournalError } from "./journal-error.js";

/** "TRPE": marks the file as a journal of ours. */
const APPLICATION_ID = 0x54525045;

/**
 * What leads from each version of the file to the next; `user_version` counts those that were made. Never change one that was
 * published: add another.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE threads (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    base INTEGER NOT NULL,  -- cursors start above it
    first INTEGER NOT NULL, -- the first entry that counts; the rest was trimmed
    swept INTEGER NOT NULL  -- entries before it are really gone
  );
  CREATE INDEX threads_unswept ON threads (id) WHERE swept < first;
  CREATE TABLE entries (
    thread INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    time INTEGER NOT NULL,
    type TEXT NOT NULL,
    delegation_id TEXT,
    event TEXT NOT NULL,
    PRIMARY KEY (thread, seq)
  ) WITHOUT ROWID;
  CREATE TABLE runs (
    thread INTEGER NOT NULL,
    first INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    last INTEGER,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    owner TEXT NOT NULL,
    PRIMARY KEY (thread, first)
  ) WITHOUT ROWID;
  CREATE INDEX runs_by_id ON runs (run_id);
  CREATE INDEX runs_open ON runs (owner) WHERE last IS NULL;
  CREATE INDEX runs_ended ON runs (ended_at);
  CREATE TABLE delegations (
    thread INTEGER NOT NULL,
    first INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    delegation_id TEXT NOT NULL,
    last INTEGER,
    owner TEXT NOT NULL,
    PRIMARY KEY (thread, first)
  ) WITHOUT ROWID;
  CREATE INDEX delegations_by_id ON delegations (delegation_id);
  CREATE INDEX delegations_open ON delegations (owner) WHERE last IS NULL;
  CREATE TABLE checkpoints (
    thread TEXT PRIMARY KEY,
    driver TEXT NOT NULL,
    workspace TEXT NOT NULL,
    session TEXT NOT NULL,
    time INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO marks VALUES ('dropped', 0);
  `,
];

/** The version of files that this code writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Brings the file to the newest version. What is there stays.
 * @throws JournalError `journal_newer`, or `journal_unreadable` for a database of another program.
 */
export function migrate(database: Database, file: string): void {
  const upgrade = database.transaction(() => {
    const version = checkVersion(database, file);
    for (const step of MIGRATIONS.slice(version)) database.exec(step);
    if (version === SCHEMA_VERSION) return;
    database.pragma(`application_id = ${APPLICATION_ID}`);
    database.pragma(`user_version = ${SCHEMA_VERSION}`);
  });
  if (checkVersion(database, file) < SCHEMA_VERSION) upgrade.immediate();
}

/** @throws JournalError as {@link migrate}, and `journal_unreadable` when an older file would have to be changed. */
export function requireVersion(database: Database, file: string): void {
  if (checkVersion(database, file) === SCHEMA_VERSION) return;
  throw new JournalError(
    "journal_unreadable",
    `The journal ${file} is of an older version. Start "troupe serve" with it once, which brings it up to date.`,
  );
}

function checkVersion(database: Database, file: string): number {
  const version = Number(database.pragma("user_version", { simple: true }));
  const tables = Number(database.prepare("SELECT count(*) FROM sqlite_schema").pluck().get());
  const application = Number(database.pragma("application_id", { simple: true }));
  if (application !== APPLICATION_ID && (application !== 0 || tables > 0 || version > 0)) {
    throw new JournalError(
      "journal_unreadable",
      `${file} is a database of another program. Name another file.`,
    );
  }
  if (version > SCHEMA_VERSION) {
    throw new JournalError(
      "journal_newer",
      `The journal ${file} was written by a newer Troupe (version ${version} of the file, this one knows ${SCHEMA_VERSION}). Update Troupe, or name another file.`,
    );
  }
  return version;
}
