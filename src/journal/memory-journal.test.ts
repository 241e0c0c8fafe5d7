import { describe, expect, it } from "vitest";
import { journalContract } from "../testing/journal-contract.js";
import {
  appendAll,
  type ContractEvent,
  type ContractLimits,
  readAll,
  runOf,
} from "../testing/journal-entries.js";
import { ManualClock } from "../testing/manual-clock.js";
import { parseCursor } from "./journal.js";
import { createMemoryJournal, type MemoryJournalOptions } from "./memory-journal.js";

const create = ({ maxEntriesPerThread, ...limits }: ContractLimits = {}, more: MemoryJournalOptions = {}) =>
  createMemoryJournal<ContractEvent>({
    ...limits,
    ...(maxEntriesPerThread === undefined ? {} : { maxItemsPerThread: maxEntriesPerThread }),
    ...more,
  });

describe("the contract of a journal", () => {
  for (const { name, check } of journalContract(create)) it(name, check);
});

describe("the memory journal", () => {
  it("stamps entries with its clock", async () => {
    const clock = new ManualClock(1_000);
    const journal = create({}, { clock });
    await appendAll(journal, runOf("a").slice(0, 2));
    await clock.advance(70);
    await appendAll(journal, [...runOf("b").slice(1)]);
    expect((await readAll(journal)).map(({ time }) => time)).toEqual([1_000, 1_000, 1_070, 1_070]);
  });

  it("drops threads that rest longest, never an active one", async () => {
    const journal = create({}, { maxThreads: 2 });
    await appendAll(journal, [{ type: "run.started" }], { thread: "active" });
    for (const thread of ["old", "new"]) await appendAll(journal, runOf("a"), { thread });
    expect(await journal.head("active")).toBe("1");
    expect(await journal.head("old")).toBeUndefined();
    expect(await journal.head("new")).toBe("3");
  });

  it("a thread that was dropped never uses a cursor twice, and its old readers are told of the gap", async () => {
    const journal = create({}, { maxThreads: 1 });
    const old = await appendAll(journal, runOf("a", "b"), { thread: "t" });
    await appendAll(journal, runOf("x"), { thread: "other" });
    const back = await appendAll(journal, runOf("c"), { thread: "t" });
    expect(Number(back[0]?.cursor)).toBeGreaterThan(Number(old.at(-1)?.cursor));
    const read = await readAll(journal, { after: old[1]?.cursor ?? "" }, "t");
    expect(read.map(({ event }) => event.type)).toEqual([
      "run.started",
      "stream.gap",
      "text.delta",
      "run.finished",
    ]);
    // Nobody who begins at the beginning of what is a new thread to him misses anything.
    expect((await readAll(journal, {}, "t")).map(({ event }) => event.type)).toEqual([
      "run.started",
      "text.delta",
      "run.finished",
    ]);
    expect(await readAll(journal, { after: old.at(-1)?.cursor ?? "" }, "t")).toHaveLength(3);
  });

  it("keeps all threads while none of them rests", async () => {
    const journal = create({}, { maxThreads: 1 });
    for (const thread of ["a", "b", "c"]) await appendAll(journal, [{ type: "run.started" }], { thread });
    for (const thread of ["a", "b", "c"]) expect(await journal.head(thread)).toBe("1");
  });
});

describe("parseCursor", () => {
  it.each([
    ["0", "0"],
    ["17", "17"],
    ["007", "7"],
    ["999999999999999", "999999999999999"],
  ])("%j is %j", (text, cursor) => expect(parseCursor(text)).toBe(cursor));

  it.each(["", " 1", "1 ", "-1", "1.5", "1e3", "0x10", "١", "1\n", "1".repeat(16), "NaN", "__proto__"])(
    "%j is none",
    (text) => expect(parseCursor(text)).toBeUndefined(),
  );
});
