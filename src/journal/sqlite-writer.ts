import type { Database } from "better-sqlite3";
import type { SpanMark } from "./span-list.js";
import type { SqliteRetention } from "./sqlite-retention.js";

/** An entry that waits to be written. */
export interface PendingEntry {
  readonly thread: string;
  readonly runId: string;
  readonly time: number;
  readonly type: string;
  readonly delegationId: string | undefined;
  /** The event as JSON. */
  readonly json: string;
  readonly mark: SpanMark;
}

interface ThreadRow {
  readonly id: number;
  head: number;
  /** A run began or ended, so that older ones may have to go. */
  turned: boolean;
}

/** Writes entries. Call it within a transaction: between two of them another process may have written to the same threads. */
export class SqliteWriter {
  readonly #statements;

  constructor(
    database: Database,
    private readonly owner: string,
    private readonly retention: SqliteRetention,
  ) {
    const prepare = <Parameters extends unknown[], Row = unknown>(sql: string) =>
      database.prepare<Parameters, Row>(sql);
    this.#statements = {
      thread: prepare<[string], { id: number; head: number }>(
        `SELECT id, coalesce(
           (SELECT seq FROM entries WHERE thread = id ORDER BY seq DESC LIMIT 1), first - 1) AS head
         FROM threads WHERE name = ?`,
      ),
      newThread: prepare<[string], { id: number; head: number }>(
        `INSERT INTO threads (name, base, first, swept)
         SELECT ?, value, value + 1, value + 1 FROM marks WHERE name = 'dropped'
         RETURNING id, base AS head`,
      ),
      entry: prepare<[number, number, string, number, string, string | null, string]>(
        "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
      ),
      startRun: prepare<[number, number, string, number, string]>(
        "INSERT INTO runs VALUES (?, ?, ?, NULL, ?, NULL, ?)",
      ),
      endRun: prepare<[number, number, number, string]>(
        "UPDATE runs SET last = ?, ended_at = ? WHERE thread = ? AND run_id = ? AND last IS NULL",
      ),
      startDelegation: prepare<[number, number, string, string, string]>(
        "INSERT INTO delegations VALUES (?, ?, ?, ?, NULL, ?)",
      ),
      endDelegation: prepare<[number, number, string]>(
        "UPDATE delegations SET last = ? WHERE thread = ? AND delegation_id = ? AND last IS NULL",
      ),
    };
  }

  /**
   * Writes a batch in its order, and trims the threads that became too long.
   * @returns the cursors, and the delegations that were trimmed.
   */
  write(batch: readonly PendingEntry[]): { cursors: number[]; dropped: string[] } {
    const threads = new Map<string, ThreadRow>();
    const cursors = batch.map((entry) => this.#write(this.#thread(threads, entry.thread), entry));
    const turned = [...threads.values()].filter((thread) => thread.turned);
    return { cursors, dropped: turned.flatMap(({ id, head }) => this.retention.trim(id, head)) };
  }

  #thread(known: Map<string, ThreadRow>, name: string): ThreadRow {
    const row = known.get(name);
    if (row !== undefined) return row;
    const found = this.#statements.thread.get(name) ?? this.#statements.newThread.get(name);
    if (found === undefined) throw new Error("no row for a new thread");
    const thread = { ...found, turned: false };
    known.set(name, thread);
    return thread;
  }

  #write(thread: ThreadRow, { runId, time, type, delegationId, json, mark }: PendingEntry): number {
    const seq = ++thread.head;
    this.#statements.entry.run(thread.id, seq, runId, time, type, delegationId ?? null, json);
    if (mark === undefined) return seq;
    const { startRun, endRun, startDelegation, endDelegation } = this.#statements;
    if (mark.delegationId !== undefined) {
      if (mark.at === "start") startDelegation.run(thread.id, seq, runId, mark.delegationId, this.owner);
      else endDelegation.run(seq, thread.id, mark.delegationId);
      return seq;
    }
    thread.turned = true;
    if (mark.at === "start") startRun.run(thread.id, seq, runId, time, this.owner);
    else endRun.run(seq, time, thread.id, runId);
    return seq;
  }
}
