import assert from "node:assert/strict";
import type { Journal } from "../journal/journal.js";
import type { JournalCheck } from "./journal-contract.js";
import {
  appendAll,
  type ContractEvent,
  type ContractLimits,
  cursorsOf,
  type Entry,
  readAll,
  runOf,
  THREAD,
} from "./journal-entries.js";

/** Opens a journal on a place; opening a place twice gives two journals with one record. */
export type OpenJournal = (place: string, limits: ContractLimits) => Promise<Journal<ContractEvent>>;

/**
 * What a {@link Journal} has to hold beyond the common contract when its record outlives it, and others may write to it as well.
 * @param newPlace a place where nothing was recorded yet.
 */
export function sharedJournalContract(open: OpenJournal, newPlace: () => string): JournalCheck[] {
  const checks: JournalCheck[] = [];
  type Opened = (limits?: ContractLimits) => Promise<Journal<ContractEvent>>;
  const promise = (name: string, check: (opened: Opened) => Promise<void>) =>
    checks.push({
      name,
      async check() {
        const place = newPlace();
        const journals: Journal<ContractEvent>[] = [];
        try {
          await check(async (limits = {}) => {
            const journal = await open(place, limits);
            journals.push(journal);
            return journal;
          });
        } finally {
          await Promise.all(journals.map((journal) => journal.close()));
        }
      },
    });

  promise("what was recorded is there for the next one, and its cursors go on", async (opened) => {
    const first = await opened();
    const before = await appendAll(first, runOf("a", "b"));
    await first.close();
    const second = await opened();
    assert.deepEqual(await readAll(second), before);
    assert.equal(await second.head(THREAD), before.at(-1)?.cursor);
    const [next] = await appendAll(second, [{ type: "run.started" }]);
    assert.equal(Number(next?.cursor), before.length + 1);
    assert.deepEqual(await readAll(second, { after: before[1]?.cursor ?? "" }), [...before.slice(2), next]);
  });

  promise("what was trimmed stays so for the next one, with its gap and its cursors", async (opened) => {
    const first = await opened({ maxEntriesPerThread: 3 });
    const old = await appendAll(first, runOf("a", "b"), { runId: "old" });
    const kept = await appendAll(first, runOf("c"), { runId: "new" });
    await first.close();
    const second = await opened({ maxEntriesPerThread: 3 });
    const [start, gap, ...rest] = await readAll(second, { after: old[0]?.cursor ?? "" });
    assert.deepEqual([start, ...rest], kept);
    assert.deepEqual(gap?.event, { type: "stream.gap", after: "1", resumesAt: kept[0]?.cursor });
  });

  promise("closing keeps what was appended and not awaited yet", async (opened) => {
    const first = await opened();
    const appended = appendAll(first, runOf("a", "b", "c"));
    await first.close();
    assert.deepEqual(await readAll(await opened()), await appended);
  });

  promise(
    "two writers at once: one order for all, every entry once, each writer's own in its order",
    async (opened) => {
      const journals = [await opened(), await opened()] as const;
      const write = async (journal: Journal<ContractEvent>, from: number) => {
        const appended: Entry[] = [];
        for (let mark = from; mark < from + 100; mark += 4)
          appended.push(
            ...(await appendAll(
              journal,
              Array.from({ length: 4 }, (_, index) => ({ type: "subagent.status", mark: mark + index })),
            )),
          );
        return appended;
      };
      const [one, two] = await Promise.all([write(journals[0], 0), write(journals[1], 1_000)]);
      const [read, again] = [await readAll(journals[0]), await readAll(journals[1])];
      assert.deepEqual(read, again);
      assert.deepEqual(
        cursorsOf(read),
        Array.from({ length: 200 }, (_, index) => index + 1),
      );
      for (const own of [one, two]) {
        assert.deepEqual(
          cursorsOf(own),
          cursorsOf(own).toSorted((a, b) => a - b),
        );
        const cursors = new Set(cursorsOf(own));
        assert.deepEqual(
          read.filter(({ cursor }) => cursors.has(Number(cursor))),
          own,
        );
      }
    },
  );

  promise("no wake-up is lost between two: who follows gets what the other writes", async (opened) => {
    const [writer, reader] = [await opened(), await opened()];
    const controller = new AbortController();
    let arrived: (entries: readonly Entry[]) => void = () => undefined;
    const reading = (async () => {
      for await (const batch of reader.read(THREAD, { follow: true, signal: controller.signal }))
        arrived(batch);
    })();
    for (let mark = 0; mark < 20; mark++) {
      const seen = new Promise<readonly Entry[]>((resolve) => {
        arrived = resolve;
      });
      const appended = await appendAll(writer, [{ type: "subagent.status", mark }]);
      assert.deepEqual(await seen, appended);
    }
    controller.abort();
    await reading;
  });

  promise("trimming by one writer is a gap for a reader at the other", async (opened) => {
    const [writer, other] = [await opened({ maxEntriesPerThread: 3 }), await opened({ batch: 2 })];
    await appendAll(writer, runOf("a", "b", "c"), { runId: "old" });
    const reading = other.read(THREAD)[Symbol.asyncIterator]();
    const first = (await reading.next()).value as readonly Entry[];
    assert.deepEqual(cursorsOf(first), [1, 2]);
    const kept = await appendAll(writer, runOf("d"), { runId: "new" });
    const rest: Entry[] = [];
    for (let next = await reading.next(); !next.done; next = await reading.next()) rest.push(...next.value);
    assert.deepEqual(
      rest.map(({ event }) => event.type),
      ["run.started", "stream.gap", "text.delta", "run.finished"],
    );
    assert.deepEqual(rest[0], kept[0]);
  });

  promise(
    "open runs and delegations of one that is gone are taken over once, those of the living never",
    async (opened) => {
      const [gone, living, one, two] = [await opened(), await opened(), await opened(), await opened()];
      const started = { type: "subagent.started", delegationId: "del-1" };
      await appendAll(gone, [{ type: "run.started" }, started], { runId: "open" });
      await appendAll(gone, runOf("a"), { thread: "over", runId: "over" });
      await appendAll(living, [{ type: "run.started" }], { thread: "living", runId: "living" });
      assert.deepEqual(await one.adopt?.(), []);
      await gone.close();
      const taken = await Promise.all([one.adopt?.(), two.adopt?.()]);
      assert.deepEqual(taken.flat(), [
        { thread: THREAD, runId: "open", first: "1" },
        { thread: THREAD, runId: "open", delegationId: "del-1", first: "2" },
      ]);
      assert.deepEqual(await living.adopt?.(), []);
      // Who took it and is gone as well leaves it to the next.
      await Promise.all([one.close(), two.close()]);
      assert.equal((await living.adopt?.())?.length, 2);
      await appendAll(living, [{ ...started, type: "subagent.failed" }, { type: "run.failed" }], {
        runId: "open",
      });
      assert.deepEqual(await (await opened()).adopt?.(), []);
    },
  );

  return checks;
}
