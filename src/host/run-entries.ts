import type { ThreadEntry, ThreadEvent } from "../bridges/agui/event.js";
import { defined } from "../core/defined.js";
import { isRunTerminal } from "../core/run-event.js";
import type { Cursor, Journal } from "../journal/journal.js";
import type { RunRecord } from "./runs.js";

/** What the journal has of a run from its first entry, as it comes; ends with the run's terminal event, or when `signal` aborts. */
export async function* runEntries(
  journal: Journal<ThreadEvent>,
  { thread, runId, first, unrecorded }: Pick<RunRecord, "thread" | "runId" | "first" | "unrecorded">,
  signal?: AbortSignal,
): AsyncGenerator<ThreadEntry> {
  const after = String(Number(await first) - 1);
  const options = { after, unrecorded, ...defined({ signal }) };
  for await (const batch of readOn(journal, thread, options)) {
    for (const entry of batch) {
      yield entry;
      if (entry.runId === runId && isRunTerminal(entry.event)) return;
    }
  }
}

/** How {@link readOn} reads. */
export interface ReadOnOptions {
  readonly after?: Cursor;
  readonly signal?: AbortSignal;
  /** Aborts when an end that is waited for will never be in the journal: then what is there is all. */
  readonly unrecorded?: AbortSignal | undefined;
}

/** Reads a thread and waits for more, until `signal` aborts or there is nothing to wait for. */
export async function* readOn(
  journal: Journal<ThreadEvent>,
  thread: string,
  { after, signal, unrecorded }: ReadOnOptions,
): AsyncGenerator<readonly ThreadEntry[]> {
  const ends = [signal, unrecorded].filter((end) => end !== undefined);
  let last = after;
  const from = () => defined({ after: last });
  for await (const batch of journal.read(thread, {
    ...from(),
    follow: true,
    ...(ends.length === 0 ? {} : { signal: AbortSignal.any(ends) }),
  })) {
    last = batch.at(-1)?.cursor ?? last;
    yield batch;
  }
  if (unrecorded?.aborted && !signal?.aborted) yield* journal.read(thread, from());
}
