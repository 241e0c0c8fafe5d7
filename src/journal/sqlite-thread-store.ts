import type { ThreadCheckpoint, ThreadStore } from "../core/thread.js";
import type { SqliteFile } from "./sqlite-file.js";

/** Keeps checkpoints in an open journal's file. */
export function sqliteThreadStore(file: SqliteFile): ThreadStore {
  const select = file.database.prepare<[string], ThreadCheckpoint>(
    "SELECT driver, workspace, session FROM checkpoints WHERE thread = ?",
  );
  const upsert = file.database.prepare<[string, string, string, string, number]>(
    `INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?) ON CONFLICT (thread) DO UPDATE
     SET driver = excluded.driver, workspace = excluded.workspace, session = excluded.session, time = excluded.time`,
  );
  return {
    get: async (thread) => file.read(() => select.get(thread)),
    async set(thread, { driver, workspace, session }) {
      await file.write(() => upsert.run(thread, driver, workspace, session, file.clock.now()));
    },
  };
}
