import { continuesText, deltaOf, withDelta } from "../core/delta.js";
import { errorText } from "../core/errors.js";
import type { JournalEntry, Recordable } from "./journal.js";
import { JournalError } from "./journal-error.js";

/** Rows that are merged at once at most, and the characters of their events. */
const MERGED_ROWS = 2_048;
const BATCH_CHARACTERS = 4_194_304;

/** An entry as an engine stores it. */
export interface StoredEntry {
  readonly seq: number;
  readonly runId: string;
  readonly time: number;
  /** The event as JSON. */
  readonly json: string;
}

/** What an engine has of a thread. Cursors have no holes. */
export interface StoredThread {
  readonly name: string;
  /** The first entry that still exists. */
  readonly first: number;
  /** The last one. */
  readonly head: number;
  /** Cursors up to this one were used by an earlier life of the thread. */
  readonly base: number;
}

/** How a reader is given entries. */
export interface ReadLimits {
  readonly batch: number;
  readonly mergeBeyond: number;
}

/** What a reader asks for next. */
export interface ReadPlan {
  /** A cursor beyond the end comes from an earlier life of the journal: it starts over, and the reader sees it jump back. */
  readonly wanted: number;
  /** Entries after this one are needed. */
  readonly from: number;
  /** How many of them at most. */
  readonly rows: number;
  readonly merge: boolean;
}

/** Plans the next batch of a reader at `after`. */
export function planRead(thread: StoredThread, after: number, limits: ReadLimits): ReadPlan {
  const wanted = after > thread.head ? 0 : after;
  const merge = thread.head - wanted > limits.mergeBeyond;
  const from = Math.max(wanted, thread.first - 1);
  return { wanted, from, merge, rows: merge ? MERGED_ROWS : limits.batch };
}

/**
 * Makes a batch of stored entries, with merged deltas when the reader is far behind, and tells what was trimmed.
 * @param where the journal, for messages
 * @throws JournalError `journal_corrupt` at an entry that cannot be read; what is before it is given first.
 */
export function readBatch<Event extends Recordable>(
  thread: StoredThread,
  { wanted, merge }: ReadPlan,
  rows: Iterable<StoredEntry>,
  limits: ReadLimits,
  where: string,
): JournalEntry<Event>[] {
  const entries: JournalEntry<Event>[] = [];
  let characters = 0;
  for (const row of rows) {
    if (entries.length >= limits.batch || characters > BATCH_CHARACTERS) break;
    const entry = entryOf<Event>(thread.name, row, where);
    if (entry instanceof JournalError) {
      if (entries.length > 0) break;
      throw entry;
    }
    characters += row.json.length;
    if (merge && mergeInto(entries, entry)) continue;
    entries.push(entry);
    const gap = entries.length === 1 ? gapBefore(entry, wanted, thread) : undefined;
    if (gap !== undefined) entries.push(gap);
  }
  return entries;
}

function entryOf<Event extends Recordable>(
  thread: string,
  { seq, runId, time, json }: StoredEntry,
  where: string,
): JournalEntry<Event> | JournalError {
  try {
    if (!Number.isSafeInteger(seq) || !Number.isSafeInteger(time)) throw new Error("a number is too large");
    return { cursor: String(seq), thread, runId, time, event: parseEvent<Event>(json) };
  } catch (error) {
    return new JournalError(
      "journal_corrupt",
      `Entry ${seq} of thread "${thread}" in ${where} cannot be read: ${errorText(error, 200)}`,
      { cause: error },
    );
  }
}

/** Cursors of a thread have no holes, so a first one that is not the next one tells that something was trimmed. */
function gapBefore<Event extends Recordable>(
  first: JournalEntry<Event>,
  after: number,
  { base }: StoredThread,
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
