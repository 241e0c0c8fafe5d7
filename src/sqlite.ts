/**
 * A journal on disk, and what belongs beside it. Needs the package `better-sqlite3`.
 * @module
 */
export {
  createDirectoryArtifactStore,
  type DirectoryArtifactOptions,
  type DirectoryArtifactStore,
} from "./delegation/directory-artifacts.js";
export {
  createDurableStorage,
  type DurableStorage,
  type DurableStorageOptions,
} from "./host/durable-storage.js";
export { JournalError, type JournalErrorCode } from "./journal/journal-error.js";
export type { SqliteFileOptions } from "./journal/sqlite-file.js";
export {
  createSqliteJournal,
  type SqliteJournalLimits,
  type SqliteJournalOptions,
} from "./journal/sqlite-journal.js";
