import { continuesText, deltaOf, withDelta } from "../core/delta.js";
import { errorText } from "../core/errors.js";
import type { JournalEntry, Recordable, RecordedSpan, SpanQuery } from "./journal.js";
import { JournalError } from "./journal-error.js";
import type { SqliteFile } from "./sqlite-file.js";

/** Rows that are merged at once at most, and the characters of their events. */
const MERGED_ROWS = 2_048;
const BATCH_CHARACTERS = 4_194_304;

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

type EntryRow = readonly [seq: number, runId: string, time: number, event: string];

/** How a reader is given entries. */
export interface ReadLimits {
  readonly batch: number;
  readonly mergeBeyond: number;
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
      entries: prepare<[number, number, number], EntryRow>(
        "SELECT seq, run_id, time, event FROM entries WHERE thread = ? AND seq > ? ORDER BY seq LIMIT ?",
      ).raw(),
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
   * The next entries after a cursor, with merged deltas when the reader is far behind.
   * @throws JournalError `journal_corrupt` at an entry that cannot be read; what is before it is given first.
   */
  take(name: string, after: number): JournalEntry<Event>[] {
    const thread = this.#statements.thread.get(name);
    if (thread === undefined) return [];
    // A cursor beyond the end comes from an earlier life of this journal: start over, the reader will see it jump back.
    const wanted = after > thread.head ? 0 : after;
    const merge = thread.head - wanted > this.limits.mergeBeyond;
    const from = Math.max(wanted, thread.first - 1);
    const entries: JournalEntry<Event>[] = [];
    let characters = 0;
    const rows = merge ? MERGED_ROWS : this.limits.batch;
    for (const row of this.#statements.entries.iterate(thread.id, from, rows)) {
      if (entries.length >= this.limits.batch || characters > BATCH_CHARACTERS) break;
      const entry = this.#entry(name, row);
      if (entry instanceof JournalError) {
        if (entries.length > 0) break;
        throw entry;
      }
      characters += row[3].length;
      if (merge && mergeInto(entries, entry)) continue;
      entries.push(entry);
      const gap = entries.length === 1 ? gapBefore(entry, wanted, thread) : undefined;
      if (gap !== undefined) entries.push(gap);
    }
    return entries;
  }

  #entry(thread: string, [seq, runId, time, json]: EntryRow): JournalEntry<Event> | JournalError {
    try {
      if (!Number.isSafeInteger(seq) || !Number.isSafeInteger(time)) throw new Error("a number is too large");
      return { cursor: String(seq), thread, runId, time, event: parseEvent<Event>(json) };
    } catch (error) {
      return new JournalError(
        "journal_corrupt",
        `Entry ${seq} of thread "${thread}" in ${this.file.path} cannot be read: ${errorText(error, 200)}`,
        { cause: error },
      );
    }
  }
}

/** Cursors of a thread have no holes, so a first one that is not the next one tells that something was trimmed. */
function gapBefore<Event extends Recordable>(
  first: JournalEntry<Event>,
  after: number,
  { base }: ThreadRow,
): JournalEntry<Event> | undefined {
  const seq = Number(first.cursor);
  // Who starts at the beginning misses nothing of a thread that is still whole.
  if (seq === after + 1 || (after === 0 && seq === base + 1)) return undefined;
  return { ...first, event: { type: "stream.gap", after: String(after), resumesAt: first.cursor } };
}

function mergeInto<Event extends Recordable>(
  entries: JournalEntry<Event>[],
  entry: JournalEntry<Event>,
): boolean {
  const previous = entries.at(-1);
  if (previous === undefined || previous.runId !== entry.runId) return false;
  if (!continuesText(previous.event, entry.event)) return false;
  const delta = (deltaOf(previous.event) ?? "") + (deltaOf(entry.event) ?? "");
  entries[entries.length - 1] = { ...entry, event: withDelta(entry.event, delta) };
  return true;
}

function parseEvent<Event extends Recordable>(json: string): Event {
  const event: unknown = JSON.parse(json);
  if (typeof event !== "object" || event === null || !("type" in event) || typeof event.type !== "string")
    throw new Error("not an event");
  return event as Event;
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
