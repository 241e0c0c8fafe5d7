import { encodeFrame } from "../bridges/agui/encoder.js";
import type { Encode, ThreadEvent } from "../bridges/agui/event.js";
import { defined } from "../core/defined.js";
import { isRunTerminal } from "../core/run-event.js";
import type { Cursor, Journal } from "../journal/journal.js";
import { formatSseComment } from "../wire/sse-writer.js";
import { readOn } from "./run-entries.js";

/** What a reader gets of a thread. */
export interface FrameOptions {
  readonly thread: string;
  readonly encode: Encode;
  readonly after?: Cursor;
  /** End after the terminal event of this run. */
  readonly untilRunEnds?: string;
  /** End when this entry was reached, or is behind already. With neither end the stream goes on for ever. */
  readonly through?: Cursor;
  readonly signal: AbortSignal;
  /** Aborts when that run's terminal event will never be in the journal: what is there is all. */
  readonly unrecorded?: AbortSignal;
}

/** The frames of a thread, as many at once as the journal gives. */
export async function* eventFrames(
  journal: Journal<ThreadEvent>,
  options: FrameOptions,
): AsyncGenerator<string> {
  const { thread, encode, after, untilRunEnds, through, signal, unrecorded } = options;
  // Something to send at once, so that proxies and clients see that the stream is open.
  yield formatSseComment("open");
  if (through !== undefined && Number(after ?? 0) >= Number(through)) return;
  for await (const batch of readOn(journal, thread, { signal, unrecorded, ...defined({ after }) })) {
    let text = "";
    let ended = false;
    for (const entry of batch) {
      text += encodeFrame(entry, encode) ?? "";
      // Not only equal: a merged entry has the cursor of its last, which may be behind that place.
      ended =
        (entry.runId === untilRunEnds && isRunTerminal(entry.event)) ||
        (through !== undefined && Number(entry.cursor) >= Number(through));
      if (ended) break;
    }
    if (text !== "") yield text;
    if (ended) return;
  }
}
