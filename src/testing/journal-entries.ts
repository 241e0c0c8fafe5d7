import assert from "node:assert/strict";
import { continuesText, deltaOf, withDelta } from "../core/delta.js";
import type { Journal, JournalEntry, ReadOptions, Recordable } from "../journal/journal.js";

/** An event of the contract's own. */
export interface ContractEvent extends Recordable {
  readonly messageId?: string;
  readonly delta?: string;
  readonly mark?: number;
}

/** What a journal under test is made with. */
export interface ContractLimits {
  /** Entries kept of a thread: ended runs beyond it may be dropped, whole. */
  readonly maxEntriesPerThread?: number;
  /** A reader further behind than this gets deltas merged. */
  readonly mergeBeyond?: number;
  /** Entries that a reader takes at once. */
  readonly batch?: number;
}

/** Makes an empty journal. */
export type CreateJournal = (
  limits: ContractLimits,
) => Promise<Journal<ContractEvent>> | Journal<ContractEvent>;

/** An entry of a journal under test. */
export type Entry = JournalEntry<ContractEvent>;

/** Where the contract writes when it does not say otherwise. */
export const THREAD = "tenant/thread";
/** The run that it writes. */
export const RUN = "run-1";

/** `run.started`, then `texts` as deltas of one message, then `run.finished`. */
export function runOf(...texts: string[]): ContractEvent[] {
  const deltas = texts.map((delta) => ({ type: "text.delta", messageId: "m", delta }));
  return [{ type: "run.started" }, ...deltas, { type: "run.finished" }];
}

/** Appends in order, without waiting in between. */
export function appendAll(
  journal: Journal<ContractEvent>,
  events: readonly ContractEvent[],
  { thread = THREAD, runId = RUN } = {},
): Promise<Entry[]> {
  return Promise.all(events.map((event) => journal.append({ thread, runId, event })));
}

/** Everything that a reader gets, batches joined. */
export async function readAll(
  journal: Journal<ContractEvent>,
  options: ReadOptions = {},
  thread = THREAD,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const batch of journal.read(thread, options)) {
    assert.notEqual(batch.length, 0, "an empty batch");
    entries.push(...batch);
  }
  return entries;
}

/** `entries` as the slowest of all readers would get them: what may be one text is one. Times are left out. */
export function coarse(entries: readonly Entry[]): Omit<Entry, "time">[] {
  const result: Omit<Entry, "time">[] = [];
  for (const { time: _time, ...entry } of entries) {
    const last = result.at(-1);
    const previous = last === undefined ? undefined : deltaOf(last.event);
    const delta = deltaOf(entry.event);
    if (
      last?.runId === entry.runId &&
      previous !== undefined &&
      delta !== undefined &&
      continuesText(last.event, entry.event)
    )
      result[result.length - 1] = { ...entry, event: withDelta(entry.event, previous + delta) };
    else result.push(entry);
  }
  return result;
}

/** The cursors as numbers. */
export function cursorsOf(entries: readonly Entry[]): number[] {
  return entries.map(({ cursor }) => Number(cursor));
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
