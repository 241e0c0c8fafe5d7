import type { ThreadEvent } from "../bridges/agui/event.js";
import { defined } from "../core/defined.js";
import type { Cursor, Journal, RecordedSpan } from "../journal/journal.js";
import { type RunRecord, titleOf } from "./runs.js";

/**
 * Runs as the journal has them, oldest first.
 * @param thread only the run of this thread.
 */
export async function recordedRuns(
  journal: Journal<ThreadEvent>,
  runId: string,
  thread?: string,
): Promise<RunRecord[]> {
  const spans = (await journal.find?.({ runId, ...defined({ thread }) })) ?? [];
  const records = await Promise.all(spans.map((span) => recordOf(journal, span)));
  return records.filter((record) => record !== undefined);
}

async function recordOf(
  journal: Journal<ThreadEvent>,
  { thread, runId, first, last }: RecordedSpan,
): Promise<RunRecord | undefined> {
  const start = await entryAt(journal, thread, first);
  const end = last === undefined ? undefined : await entryAt(journal, thread, last);
  if (start?.event.type !== "run.started") return undefined;
  const record: RunRecord = {
    runId,
    thread,
    agent: start.event.agent,
    title: titleOf(start.event.messages),
    startedAt: start.time,
    status: "running",
    first: Promise.resolve(first),
    recorded: true,
    ...(end === undefined ? {} : { endedAt: end.time, last: end.cursor }),
  };
  switch (end?.event.type) {
    case "run.finished":
      return { ...record, status: "finished" };
    case "run.failed":
      return { ...record, status: "failed", error: end.event.error };
    case "run.cancelled":
      return { ...record, status: "cancelled" };
    default:
      return record;
  }
}

async function entryAt(journal: Journal<ThreadEvent>, thread: string, cursor: Cursor) {
  for await (const batch of journal.read(thread, { after: String(Number(cursor) - 1) }))
    return batch.find((entry) => entry.cursor === cursor);
  return undefined;
}
