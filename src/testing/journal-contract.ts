import assert from "node:assert/strict";
import { deltaOf } from "../core/delta.js";
import type { Journal } from "../journal/journal.js";
import {
  appendAll,
  type ContractEvent,
  type ContractLimits,
  type CreateJournal,
  cursorsOf,
  type Entry,
  RUN,
  readAll,
  runOf,
  THREAD,
  turn,
} from "./journal-entries.js";
import { checkAnyReader } from "./journal-readers.js";

/** One promise of {@link Journal}; `check` rejects when it is broken. */
export interface JournalCheck {
  readonly name: string;
  check(): Promise<void>;
}

const marks = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({ type: "subagent.status", mark: from + index }));

/**
 * What every {@link Journal} has to hold, whatever its engine. Give each check to the test runner:
 * `for (const { name, check } of journalContract(create)) it(name, check)`.
 */
export function journalContract(create: CreateJournal): JournalCheck[] {
  const checks: JournalCheck[] = [];
  const promise = (
    name: string,
    check: (journal: Journal<ContractEvent>) => Promise<void>,
    limits: ContractLimits = {},
  ) =>
    checks.push({
      name,
      async check() {
        const journal = await create(limits);
        try {
          await check(journal);
        } finally {
          await journal.close();
        }
      },
    });

  promise("appends in the order of the calls, with strictly increasing cursors", async (journal) => {
    assert.equal(await journal.head(THREAD), undefined);
    const appended = await appendAll(journal, marks(50));
    const read = await readAll(journal);
    assert.deepEqual(read, appended);
    assert.deepEqual(
      read.map(({ event }) => event),
      marks(50),
    );
    for (const { cursor, thread, runId, time } of read) {
      assert.match(cursor, /^[1-9]\d*$/);
      assert.deepEqual([thread, runId], [THREAD, RUN]);
      assert.equal(Number.isSafeInteger(time), true);
    }
    assert.deepEqual(
      cursorsOf(read),
      [...new Set(cursorsOf(read))].sort((a, b) => a - b),
    );
    assert.equal(await journal.head(THREAD), read.at(-1)?.cursor);
  });

  promise("a thread may begin with any event", async (journal) => {
    await appendAll(journal, [{ type: "subagent.status", mark: 1 }]);
    assert.equal((await readAll(journal)).length, 1);
  });

  promise("reading after any cursor gives exactly the rest", async (journal) => {
    const all = await appendAll(journal, [...runOf("a", "b", "c"), ...runOf("d", "e")]);
    for (const [index, { cursor }] of all.entries())
      assert.deepEqual(await readAll(journal, { after: cursor }), all.slice(index + 1));
  });

  promise("a thread that nobody wrote to is empty, and its reader ends", async (journal) => {
    assert.deepEqual(await readAll(journal), []);
  });

  promise("a cursor from an earlier life of the journal starts over", async (journal) => {
    const all = await appendAll(journal, marks(3));
    assert.deepEqual(await readAll(journal, { after: "999999" }), all);
  });

  promise("two threads do not mix, not even with the same run ids", async (journal) => {
    const one = appendAll(journal, marks(5), { thread: "a/x" });
    const two = appendAll(journal, marks(5, 100), { thread: "a/x/y" });
    assert.deepEqual(await readAll(journal, {}, "a/x"), await one);
    assert.deepEqual(await readAll(journal, {}, "a/x/y"), await two);
    assert.deepEqual(await readAll(journal, {}, "a"), []);
  });

  promise("a following reader gets what comes later, and ends when its signal aborts", async (journal) => {
    const controller = new AbortController();
    const [before] = await appendAll(journal, marks(1));
    const seen: Entry[] = [];
    const reading = (async () => {
      for await (const batch of journal.read(THREAD, { follow: true, signal: controller.signal })) {
        seen.push(...batch);
        if (seen.length === 4) controller.abort();
      }
    })();
    while (seen.length === 0) await turn();
    const later = await appendAll(journal, marks(3, 1));
    await reading;
    assert.deepEqual(seen, [before, ...later]);
  });

  promise("a reader that waits, or has not begun, ends when its signal aborts", async (journal) => {
    const controller = new AbortController();
    const waiting = readAll(journal, { follow: true, signal: controller.signal });
    await turn();
    controller.abort();
    assert.deepEqual(await waiting, []);
    await appendAll(journal, marks(1));
    assert.deepEqual(await readAll(journal, { follow: true, signal: controller.signal }), []);
  });

  promise("a following reader of a thread that does not exist yet gets its first entry", async (journal) => {
    const reading = journal.read(THREAD, { follow: true })[Symbol.asyncIterator]();
    const first = reading.next();
    await turn();
    const [entry] = await appendAll(journal, marks(1));
    assert.deepEqual((await first).value, [entry]);
  });

  promise("closing ends every reader", async (journal) => {
    const waiting = Promise.all([
      readAll(journal, { follow: true }),
      readAll(journal, { follow: true }, "other"),
    ]);
    await turn();
    await journal.close();
    assert.deepEqual(await waiting, [[], []]);
  });

  promise(
    "readers do not disturb each other: a slow one gets the same as a quick one",
    async (journal) => {
      const all = await appendAll(journal, marks(20));
      const slow = journal.read(THREAD)[Symbol.asyncIterator]();
      const first = (await slow.next()).value as readonly Entry[];
      const quick = await readAll(journal);
      const more = await appendAll(journal, marks(5, 20));
      const rest: Entry[] = [...first];
      for (let next = await slow.next(); !next.done; next = await slow.next()) rest.push(...next.value);
      assert.deepEqual(quick, all);
      assert.deepEqual(rest, [...all, ...more]);
    },
    { batch: 7 },
  );

  promise(
    "a reader that keeps up gets each delta by itself",
    async (journal) => {
      const all = await appendAll(journal, runOf("a", "b", "c", "d"));
      assert.deepEqual(await readAll(journal), all);
    },
    { mergeBeyond: 10 },
  );

  promise(
    "a reader far behind gets adjacent deltas of one text as one, at the place of the last",
    async (journal) => {
      const other = { type: "text.delta", messageId: "n", delta: "x" };
      const status = { type: "subagent.status", mark: 1 };
      const events = [
        ...runOf("a", "b").slice(0, 3),
        other,
        ...runOf("c", "d").slice(1, 3),
        status,
        ...runOf("e", "f").slice(1),
      ];
      const all = await appendAll(journal, events);
      const merged = (await readAll(journal)).map(({ cursor, event }) => [
        cursor,
        deltaOf(event) ?? event.type,
      ]);
      const at = (index: number) => all[index]?.cursor;
      assert.deepEqual(merged, [
        [at(0), "run.started"],
        [at(2), "ab"],
        [at(3), "x"],
        [at(5), "cd"],
        [at(6), "subagent.status"],
        [at(8), "ef"],
        [at(9), "run.finished"],
      ]);
    },
    { mergeBeyond: 1 },
  );

  promise(
    "deltas of two runs or of two kinds are never merged",
    async (journal) => {
      const text = { type: "text.delta", messageId: "m", delta: "a" };
      await appendAll(journal, [text], { runId: "one" });
      await appendAll(journal, [text, { ...text, type: "reasoning.delta" }], { runId: "two" });
      assert.equal((await readAll(journal)).length, 3);
    },
    { mergeBeyond: 0 },
  );

  promise(
    "what was trimmed is told by a gap, right after a run's start, and nothing else is missing",
    async (journal) => {
      const [dropped] = await appendAll(
        journal,
        [{ type: "run.started" }, ...marks(20), { type: "run.finished" }],
        { runId: "old" },
      );
      const kept = await appendAll(
        journal,
        [{ type: "run.started" }, ...marks(5), { type: "run.finished" }],
        { runId: "new" },
      );
      const read = await readAll(journal, { after: dropped?.cursor ?? "" });
      const [start, gap, ...rest] = read;
      assert.deepEqual(start, kept[0]);
      assert.deepEqual(gap?.event, {
        type: "stream.gap",
        after: dropped?.cursor,
        resumesAt: kept[0]?.cursor,
      });
      assert.equal(gap?.cursor, kept[0]?.cursor);
      assert.deepEqual(rest, kept.slice(1));
      // Who was that far already missed nothing.
      assert.deepEqual(await readAll(journal, { after: kept[0]?.cursor ?? "" }), kept.slice(1));
      const [, ...head] = await readAll(journal);
      assert.equal(head[0]?.event.type, "stream.gap");
    },
    { maxEntriesPerThread: 10 },
  );

  promise(
    "case 039: an active run is never trimmed, however long it is",
    async (journal) => {
      const all = await appendAll(journal, [{ type: "run.started" }, ...marks(200)]);
      await appendAll(journal, marks(200), { thread: "other" });
      assert.deepEqual(await readAll(journal), all);
      // Even another run's start in the same thread must not take it away.
      await appendAll(journal, [{ type: "run.started" }], { runId: "second" });
      assert.deepEqual((await readAll(journal)).slice(0, all.length), all);
    },
    { maxEntriesPerThread: 10 },
  );

  promise(
    "a reader that never reads holds nothing back",
    async (journal) => {
      const idle = journal.read(THREAD, { follow: true })[Symbol.asyncIterator]();
      for (let run = 0; run < 5; run++)
        await appendAll(journal, [{ type: "run.started" }, ...marks(20), { type: "run.finished" }], {
          runId: `run-${run}`,
        });
      const first = (await idle.next()).value as readonly Entry[];
      assert.equal(first[0]?.runId, "run-4");
      assert.equal(first[1]?.event.type, "stream.gap");
      await idle.return?.();
    },
    { maxEntriesPerThread: 10 },
  );

  promise("runs and delegations are found by their ids, with where they begin and end", async (journal) => {
    if (journal.find === undefined) return;
    const subagent = (type: string, delegationId: string) => ({ type: `subagent.${type}`, delegationId });
    const entries = await appendAll(
      journal,
      [
        { type: "run.started" },
        subagent("started", "del-1"),
        subagent("status", "del-1"),
        subagent("started", "del-2"),
        subagent("finished", "del-1"),
        subagent("cancelled", "del-2"),
        { type: "run.failed" },
      ],
      { runId: "a" },
    );
    await appendAll(journal, [{ type: "run.started" }], { runId: "b" });
    await appendAll(journal, runOf("x"), { thread: "other", runId: "a" });
    const at = (index: number) => entries[index]?.cursor;
    const run = { thread: THREAD, runId: "a", first: at(0), last: at(6) };
    assert.deepEqual(await journal.find({ runId: "a" }), [
      run,
      { thread: "other", runId: "a", first: "1", last: "3" },
    ]);
    assert.deepEqual(await journal.find({ thread: THREAD }), [
      run,
      { thread: THREAD, runId: "b", first: "8" },
    ]);
    const delegation = { thread: THREAD, runId: "a" };
    assert.deepEqual(await journal.find({ delegationId: "del-1" }), [
      { ...delegation, delegationId: "del-1", first: at(1), last: at(4) },
    ]);
    assert.deepEqual(await journal.find({ delegationId: "del-2" }), [
      { ...delegation, delegationId: "del-2", first: at(3), last: at(5) },
    ]);
    for (const query of [{ runId: "del-1" }, { delegationId: "a" }, { thread: "a" }])
      assert.deepEqual(await journal.find(query), []);
  });

  promise(
    "what was trimmed is found no more",
    async (journal) => {
      if (journal.find === undefined) return;
      const delegation = ["started", "finished"].map((type) => ({
        type: `subagent.${type}`,
        delegationId: "del-1",
      }));
      const run = [{ type: "run.started" }, ...delegation, ...marks(20), { type: "run.finished" }];
      await appendAll(journal, run, { runId: "old" });
      await appendAll(journal, runOf("x"), { runId: "new" });
      assert.deepEqual(await journal.find({ runId: "old" }), []);
      assert.deepEqual(await journal.find({ delegationId: "del-1" }), []);
      assert.equal((await journal.find({ thread: THREAD })).length, 1);
    },
    { maxEntriesPerThread: 10 },
  );

  promise(
    "no wake-up is lost: a reader that is at the end gets whatever comes, whenever it comes",
    async (journal) => {
      const controller = new AbortController();
      let seen = 0;
      const reading = (async () => {
        for await (const batch of journal.read(THREAD, { follow: true, signal: controller.signal }))
          seen += batch.length;
      })();
      for (let count = 1; count <= 60; count++) {
        // From before the reader has noticed the last one to long after.
        for (let waited = 0; waited < count % 6; waited++) await turn();
        await appendAll(journal, marks(1, count));
        if (count % 10 === 0) for (let waited = 0; seen < count && waited < 10_000; waited++) await turn();
        if (count % 10 === 0) assert.equal(seen, count);
      }
      controller.abort();
      await reading;
    },
  );

  checks.push({
    name: "property: at any pace, from any cursor, with any batch and merging, a reader gets everything once and in order",
    check: () => checkAnyReader(create),
  });
  return checks;
}
