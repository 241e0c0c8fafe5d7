import type { JournalEntry, Recordable, RecordedSpan, SpanQuery } from "./journal.js";
import { planRead, type ReadLimits, readBatch, type StoredEntry } from "./read-batch.js";
import type { SqliteFile } from "./sqlite-file.js";

interface ThreadRow {
  readonly id: number;
  readonly base: number;
  readonly first: number;
  readonly head: number;
}

interface SpanRow {
  readonly thread: string;
  readonly run_id: string;
  readonly delegation_id: string | null;
  readonly first: number;
  readonly last: number | null;
}

/** Reads entries and spans. */
export class SqliteReader<Event extends Recordable> {
  readonly #statements;

  constructor(
    private readonly file: SqliteFile,
    private readonly limits: ReadLimits,
  ) {
    const prepare = <Parameters extends unknown[], Row>(sql: string) =>
      file.database.prepare<Parameters, Row>(sql);
    const spans = (table: string, delegation: string, where: string) =>
      prepare<[string], SpanRow>(
        `SELECT name AS thread, run_id, ${delegation} AS delegation_id, span.first AS first, last
         FROM ${table} AS span JOIN threads ON threads.id = span.thread
         WHERE ${where} = ? ORDER BY span.thread, span.first`,
      );
    this.#statements = {
      thread: prepare<[string], ThreadRow>(
        `SELECT id, base, first, coalesce(
           (SELECT seq FROM entries WHERE thread = id ORDER BY seq DESC LIMIT 1), first - 1) AS head
         FROM threads WHERE name = ?`,
      ),
      entries: prepare<[number, number, number], StoredEntry>(
        "SELECT seq, run_id AS runId, time, event AS json FROM entries WHERE thread = ? AND seq > ? ORDER BY seq LIMIT ?",
      ),
      runsById: spans("runs", "NULL", "run_id"),
      runsOfThread: spans("runs", "NULL", "name"),
      delegationsById: spans("delegations", "delegation_id", "delegation_id"),
    };
  }

  head(thread: string): string | undefined {
    const row = this.#statements.thread.get(thread);
    return row === undefined || row.head === 0 ? undefined : String(row.head);
  }

  find(query: SpanQuery): RecordedSpan[] {
    const { runsById, runsOfThread, delegationsById } = this.#statements;
    if ("delegationId" in query) return delegationsById.all(query.delegationId).map(toSpan);
    if (!("runId" in query)) return runsOfThread.all(query.thread).map(toSpan);
    const { runId, thread } = query;
    const runs = runsById.all(runId).map(toSpan);
    return thread === undefined ? runs : runs.filter((span) => span.thread === thread);
  }

  /**
   * The next entries after a cursor.
   * @throws JournalError `journal_corrupt`.
   */
  take(name: string, after: number): JournalEntry<Event>[] {
    const row = this.#statements.thread.get(name);
    if (row === undefined) return [];
    const thread = { ...row, name };
    const plan = planRead(thread, after, this.limits);
    const rows = this.#statements.entries.iterate(row.id, plan.from, plan.rows);
    return readBatch(thread, plan, rows, this.limits, this.file.path);
  }
}

function toSpan({ thread, run_id, delegation_id, first, last }: SpanRow): RecordedSpan {
  return {
    thread,
    runId: run_id,
    first: String(first),
    ...(delegation_id === null ? {} : { delegationId: delegation_id }),
    ...(last === null ? {} : { last: String(last) }),
  };
}
