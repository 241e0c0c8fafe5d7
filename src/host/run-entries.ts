import type { ThreadEntry, ThreadEvent } from "../bridges/agui/event.js";
import { isRunTerminal } from "../core/run-event.js";
import type { Journal } from "../journal/journal.js";
import type { RunRecord } from "./runs.js";

/** What the journal has of a run from its first entry, as it comes; ends with the run's terminal event, or when `signal` aborts. */
export async function* runEntries(
  journal: Journal<ThreadEvent>,
  { thread, runId, first }: Pick<RunRecord, "thread" | "runId" | "first">,
  signal?: AbortSignal,
): AsyncGenerator<ThreadEntry> {
  const after = String(Number(await first) - 1);
  const options = { after, follow: true, ...(signal === undefined ? {} : { signal }) };
  for await (const batch of journal.read(thread, options)) {
    for (const entry of batch) {
      yield entry;
      if (entry.runId === runId && isRunTerminal(entry.event)) return;
    }
  }
}
