import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deltaOf } from "../core/delta.js";
import { type ContractEvent, coarse } from "../testing/journal-entries.js";
import type { JournalEntry } from "./journal.js";
import { MemoryThread } from "./memory-thread.js";

const delta = (text: string, messageId = "m"): ContractEvent => ({
  type: "text.delta",
  messageId,
  delta: text,
});

function threadOf(...events: readonly (ContractEvent | { event: ContractEvent; runId: string })[]) {
  const thread = new MemoryThread<ContractEvent>("t");
  const all = events.map((item, index) =>
    "event" in item
      ? thread.append(item.runId, index * 10, item.event)
      : thread.append("run-1", index * 10, item),
  );
  return { thread, all };
}

const take = (thread: MemoryThread<ContractEvent>, after = 0, merge = false) =>
  thread.take(after, 1_000_000, merge);

describe("packing", () => {
  it("a run of deltas becomes one item when its run ends, and comes out again as it went in, times included", () => {
    const { thread, all } = threadOf(
      { type: "run.started" },
      delta("a"),
      delta(""),
      delta("bc"),
      delta("x", "n"),
      { type: "run.finished" },
    );
    expect(thread.size).toBe(4);
    expect(take(thread)).toEqual(all);
    for (const [index, { cursor }] of all.entries())
      expect(take(thread, Number(cursor))).toEqual(all.slice(index + 1));
  });

  it("what stays of a long answer does not grow with its number of deltas, not even while it goes on", () => {
    const thread = new MemoryThread<ContractEvent>("t");
    thread.append("run-1", 0, { type: "run.started" });
    const sizes: number[] = [];
    for (let index = 1; index <= 100_000; index++) {
      thread.append("run-1", index, delta("word "));
      if (index % 20_000 === 0) sizes.push(thread.size);
    }
    expect(Math.max(...sizes)).toBeLessThan(4_200);
    thread.append("run-1", 0, { type: "run.finished" });
    expect(thread.size).toBeLessThan(40);
    expect(take(thread, 0, true).map(({ event }) => deltaOf(event)?.length ?? 0)).toEqual([0, 500_000, 0]);
  });

  it("deltas that differ in what a reader is told besides the text are not packed", () => {
    const identified = { ...delta("b"), remoteTaskId: "task-1" };
    const { thread, all } = threadOf({ type: "run.started" }, delta("a"), identified, {
      type: "run.finished",
    });
    expect(take(thread)).toEqual(all);
    expect(take(thread, 0, true)).toEqual(all);
  });

  const event = fc.oneof(
    {
      weight: 10,
      arbitrary: fc
        .record({ text: fc.string({ unit: "binary", maxLength: 3 }), id: fc.constantFrom("m", "n") })
        .map(({ text, id }) => delta(text, id)),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom<ContractEvent>(
        { type: "run.started" },
        { type: "run.finished" },
        { type: "subagent.status", mark: 1 },
      ),
    },
  );

  it("property: it is lossless at every cursor, and merging changes nothing but where deltas end", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ event, runId: fc.constantFrom("run-1", "run-1", "run-2") }), { maxLength: 50 }),
        fc.integer({ min: 1, max: 10 }),
        (events, limit) => {
          const { thread, all } = threadOf(...events);
          for (let after = 0; after <= all.length; after++) {
            const rest = all.slice(after);
            expect(take(thread, after)).toEqual(rest);
            expect(coarse(take(thread, after, true))).toEqual(coarse(rest));
            const pieces: JournalEntry<ContractEvent>[] = [];
            for (
              let from = after, next = thread.take(from, limit, true);
              next.length > 0;
              next = thread.take(from, limit, true)
            ) {
              pieces.push(...next);
              from = Number(next.at(-1)?.cursor);
            }
            expect(coarse(pieces)).toEqual(coarse(rest));
          }
        },
      ),
    );
  });
});

describe("trimming", () => {
  const run = (runId: string, count = 3) => [
    { runId, event: { type: "run.started" } },
    ...Array.from({ length: count }, (_, mark) => ({ runId, event: { type: "subagent.status", mark } })),
    { runId, event: { type: "run.finished" } },
  ];

  it("drops whole ended runs, oldest first, and only as many as it has to", () => {
    const { thread, all } = threadOf(...run("a"), ...run("b"), ...run("c"));
    thread.trim(10);
    expect(thread.size).toBe(10);
    expect(take(thread, 5)).toEqual(all.slice(5));
    thread.trim(1);
    expect(take(thread, 10)).toEqual(all.slice(10));
    expect(take(thread).map(({ runId }) => runId)).not.toContain("b");
  });

  it("case 039: stops at a run that is active", () => {
    const { thread, all } = threadOf(
      { runId: "a", event: { type: "run.started" } },
      ...run("b"),
      ...run("c"),
    );
    thread.trim(1);
    expect(take(thread)).toEqual(all);
  });

  it("a reader in the middle of what was dropped goes on with the next run's start, then hears of the gap", () => {
    const { thread, all } = threadOf(...run("a"), ...run("b"));
    thread.trim(1);
    const [start, gap, next] = take(thread, 2);
    expect(start).toEqual(all[5]);
    expect(gap).toEqual({ ...all[5], event: { type: "stream.gap", after: "2", resumesAt: "6" } });
    expect(next).toEqual(all[6]);
    expect(thread.take(2, 1, false)).toEqual([start, gap]);
    expect(take(thread, 6)).toEqual(all.slice(6));
  });

  it("goes on packing rightly afterwards", () => {
    const { thread } = threadOf(...run("a"), ...run("b"));
    thread.trim(5);
    const later = [delta("x"), delta("y"), { type: "run.started" }, delta("z"), { type: "run.finished" }];
    const entries = later.map((next) => thread.append("run-3", 0, next));
    expect(take(thread, 10)).toEqual(entries);
  });
});
