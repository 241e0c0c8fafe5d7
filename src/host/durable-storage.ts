import { dirname } from "node:path";
import type { ThreadEvent } from "../bridges/agui/event.js";
import { defined } from "../core/defined.js";
import { logText } from "../core/log-text.js";
import type { ThreadStore } from "../core/thread.js";
import type { ArtifactStore } from "../delegation/artifacts.js";
import { createDirectoryArtifactStore } from "../delegation/directory-artifacts.js";
import type { Journal } from "../journal/journal.js";
import { openSqliteFile, type SqliteFileOptions } from "../journal/sqlite-file.js";
import { SqliteJournal, type SqliteJournalLimits } from "../journal/sqlite-journal.js";
import { sqliteThreadStore } from "../journal/sqlite-thread-store.js";

/** Options of {@link createDurableStorage}. */
export interface DurableStorageOptions extends SqliteFileOptions, Omit<SqliteJournalLimits, "onDropped"> {
  /** Where files of remotes go; by default the folder of `file`. */
  readonly directory?: string;
}

/** All that a host keeps, in a place that outlives it. */
export interface DurableStorage {
  /** For `createHost`, which closes it. */
  readonly journal: Journal<ThreadEvent>;
  /** For `createHost`. An artifact goes when its delegation is no longer in the journal. */
  readonly artifacts: ArtifactStore;
  /** For `createAgent`. Works until the journal is closed. */
  readonly threads: ThreadStore;
}

/**
 * Opens a SQLite file for the journal and the threads' checkpoints, and a directory beside it for artifacts. Several hosts may use
 * one file. Needs the package `better-sqlite3`.
 * @throws JournalError which says what to do.
 */
export async function createDurableStorage(options: DurableStorageOptions): Promise<DurableStorage> {
  const file = await openSqliteFile(options);
  const artifacts = createDirectoryArtifactStore({
    directory: options.directory ?? dirname(file.path),
    ...defined({ clock: options.clock }),
  });
  const journal = new SqliteJournal<ThreadEvent>(file, {
    ...options,
    onDropped: (delegationIds) => {
      artifacts
        .drop(delegationIds)
        .catch((error: unknown) =>
          console.error("Artifacts of old delegations were not deleted:", logText(error)),
        );
    },
  });
  return { journal, artifacts, threads: sqliteThreadStore(file) };
}
