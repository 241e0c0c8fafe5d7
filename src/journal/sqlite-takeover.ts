import type { Database } from "better-sqlite3";
import type { RecordedSpan } from "./journal.js";
import type { SqliteOwner } from "./sqlite-owner.js";

interface Adopted {
  readonly thread: string;
  readonly run_id: string;
  readonly delegation_id: string | null;
  readonly first: number;
}

/**
 * Makes `owner` the owner of every open run and delegation whose own owner is gone. Call it within a transaction, which is what
 * gives each of them to one process alone.
 */
export function adoptSpans(database: Database, owner: SqliteOwner): RecordedSpan[] {
  const owners = database
    .prepare<[], string>(
      "SELECT owner FROM runs WHERE last IS NULL UNION SELECT owner FROM delegations WHERE last IS NULL",
    )
    .pluck()
    .all();
  const gone = owners.filter((id) => !owner.isAlive(id));
  if (gone.length === 0) return [];
  owner.hold();
  return gone.flatMap((id) => {
    const spans = openSpans(database, id);
    for (const table of ["runs", "delegations"])
      database.prepare(`UPDATE ${table} SET owner = ? WHERE owner = ? AND last IS NULL`).run(owner.id, id);
    return spans;
  });
}

/** Every run and delegation that an owner holds open. */
export function openSpans(database: Database, owner: string): RecordedSpan[] {
  return database
    .prepare<[{ id: string }], Adopted>(
      `SELECT name AS thread, run_id, delegation_id, span.first AS first FROM (
         SELECT thread, run_id, NULL AS delegation_id, first FROM runs WHERE owner = @id AND last IS NULL
         UNION ALL
         SELECT thread, run_id, delegation_id, first FROM delegations WHERE owner = @id AND last IS NULL
       ) AS span JOIN threads ON threads.id = span.thread ORDER BY span.thread, span.first`,
    )
    .all({ id: owner })
    .map(({ thread, run_id, delegation_id, first }) => ({
      thread,
      runId: run_id,
      first: String(first),
      ...(delegation_id === null ? {} : { delegationId: delegation_id }),
    }));
}
