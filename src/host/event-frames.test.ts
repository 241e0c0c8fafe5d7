import { expect, it } from "vitest";
import type { ThreadEntry, ThreadEvent } from "../bridges/agui/event.js";
import { createMemoryJournal } from "../journal/memory-journal.js";
import { ManualClock } from "../testing/manual-clock.js";
import { eventFrames } from "./event-frames.js";

it("ends at a place that a merged entry has run over", async () => {
  const journal = createMemoryJournal<ThreadEvent>({ clock: new ManualClock() });
  const append = (event: ThreadEvent) => journal.append({ thread: "t", runId: "r", event });
  await append({ type: "run.started", agent: "a", messages: [] });
  await append({ type: "text.start", messageId: "m" });
  for (let count = 0; count < 3_000; count++)
    await append({ type: "text.delta", messageId: "m", delta: "x" });
  const seen: ThreadEntry[] = [];
  const encode = (entry: ThreadEntry) => {
    seen.push(entry);
    return undefined;
  };
  const { signal } = new AbortController();
  // A place among the deltas: whoever reads from the beginning gets them merged into one entry behind it.
  for await (const _ of eventFrames(journal, { thread: "t", encode, through: "1500", signal }));
  expect(Number(seen.at(-1)?.cursor)).toBeGreaterThanOrEqual(1_500);
});
