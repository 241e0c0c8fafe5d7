import assert from "node:assert/strict";
import { type CreateJournal, coarse, cursorsOf, type Entry, THREAD, turn } from "./journal-entries.js";

/** How long an engine may take until readers have what was appended, in milliseconds. */
const PATIENCE_MS = 5_000;

/**
 * Any events, any number of readers from any cursor at any pace: each gets everything once and in order.
 * Needs the package `fast-check`.
 */
export async function checkAnyReader(create: CreateJournal): Promise<void> {
  const { default: fc } = await import("fast-check");
  const delta = fc.record({
    type: fc.constantFrom("text.delta", "reasoning.delta"),
    messageId: fc.constantFrom("m", "n"),
    delta: fc.string({ unit: "grapheme", maxLength: 3 }),
  });
  const other = fc.oneof(
    fc.record({ type: fc.constant("subagent.status"), mark: fc.nat(9) }),
    fc.constantFrom({ type: "run.started" }, { type: "run.finished" }),
  );
  const event = fc.record({
    event: fc.oneof({ weight: 8, arbitrary: delta }, { weight: 1, arbitrary: other }),
    runId: fc.constantFrom("run-1", "run-1", "run-1", "run-2"),
    pause: fc.integer({ min: -6, max: 2 }),
  });
  const reader = fc.record({
    from: fc.nat(60),
    pace: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { minLength: 1, maxLength: 60 }),
      fc.array(reader, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 0, max: 30 }),
      async (events, readers, batch, mergeBeyond) => {
        const journal = await create({ batch, mergeBeyond });
        const controller = new AbortController();
        const all: Entry[] = [];
        const write = async () => {
          for (const { event: next, runId, pause } of events) {
            // fast-check makes objects without a prototype, which nothing that was written down has.
            all.push(await journal.append({ thread: THREAD, runId, event: { ...next } }));
            for (let waited = 0; waited < pause; waited++) await turn();
          }
        };
        const states: { after: string | undefined; readonly seen: Entry[] }[] = [];
        const follow = async ({ from, pace }: { from: number; pace: readonly number[] }) => {
          const state = { after: undefined as string | undefined, seen: [] as Entry[] };
          states.push(state);
          const start = Math.min(from, events.length);
          while (all.length < start) await turn();
          state.after = all[start - 1]?.cursor;
          const { after } = state;
          const options = {
            follow: true,
            signal: controller.signal,
            ...(after === undefined ? {} : { after }),
          };
          let step = 0;
          for await (const batch of journal.read(THREAD, options)) {
            assert.notEqual(batch.length, 0);
            state.seen.push(...batch);
            for (let waited = pace[step++ % pace.length] ?? 0; waited > 0; waited--) await turn();
          }
        };
        const reading = Promise.all(readers.map(follow));
        await write();
        const behind = () =>
          states.some(({ after, seen }) => (seen.at(-1)?.cursor ?? after) !== all.at(-1)?.cursor);
        for (const until = performance.now() + PATIENCE_MS; behind() && performance.now() < until; )
          await turn();
        controller.abort();
        await reading;
        for (const { after, seen } of states) {
          const expected = all.filter(({ cursor }) => Number(cursor) > Number(after ?? 0));
          assert.deepEqual(coarse(seen), coarse(expected));
          assert.deepEqual(
            cursorsOf(seen),
            [...new Set(cursorsOf(seen))].sort((a, b) => a - b),
          );
          const whole = (entries: readonly Entry[]) =>
            entries.filter(({ event: { type } }) => !type.endsWith("delta"));
          assert.deepEqual(whole(seen), whole(expected));
        }
        await journal.close();
      },
    ),
  );
}
