import { describe, expect, it } from "vitest";
import { TroupeError } from "../core/errors.js";
import { ManualClock } from "../testing/manual-clock.js";
import { WireError } from "../wire/errors.js";
import { type BatchOptions, BatchQueue } from "./batch-queue.js";

type Event = number | { readonly dropped: number };

/** A queue of numbers whose batches go to `take`, and what the log was told. */
function bench(
  take: (batch: Event[], signal: AbortSignal) => Promise<void> | void,
  options: BatchOptions = {},
) {
  const clock = new ManualClock();
  const problems: string[] = [];
  const queue = new BatchQueue<Event, Event>(
    async (batch, signal) => take([...batch], signal),
    { pack: (packed) => ({ packed, characters: 1 }), notice: (dropped) => ({ dropped }) },
    { clock, batchSize: 3, onProblem: (text) => problems.push(text), ...options },
  );
  return { clock, problems, queue };
}

const words = { pack: (packed: string) => ({ packed, characters: packed.length }), notice: String };
const never = () => new Promise<never>(() => undefined);

describe("batches", () => {
  it("go when they are full, or when the first event has waited long enough", async () => {
    const batches: Event[][] = [];
    const { clock, queue } = bench((batch) => void batches.push(batch), { flushMs: 200 });
    for (const event of [1, 2, 3, 4]) queue.add(event);
    await clock.advance(0);
    expect(batches).toEqual([[1, 2, 3]]);
    await clock.advance(199);
    expect(batches).toHaveLength(1);
    await clock.advance(1);
    expect(batches).toEqual([[1, 2, 3], [4]]);
    await queue.close();
    expect(clock.pending).toBe(0);
  });

  it("go one after the other, in order", async () => {
    const batches: Event[][] = [];
    let release: () => void = () => undefined;
    const { clock, queue } = bench(async (batch) => {
      batches.push(batch);
      if (batches.length === 1) await new Promise<void>((resolve) => (release = resolve));
    });
    for (const event of [1, 2, 3, 4, 5, 6]) queue.add(event);
    await clock.advance(5_000);
    expect(batches).toEqual([[1, 2, 3]]);
    release();
    await clock.advance(0);
    expect(batches).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
  });

  it("what is left goes at the end, at once", async () => {
    const batches: Event[][] = [];
    const { queue } = bench((batch) => void batches.push(batch));
    for (const event of [1, 2]) queue.add(event);
    await queue.close();
    queue.add(3);
    expect(batches).toEqual([[1, 2]]);
  });
});

describe("a failure", () => {
  it("is tried again with the same batch, later each time, and told once", async () => {
    const attempts: number[] = [];
    const { clock, queue, problems } = bench(() => {
      attempts.push(clock.now());
      if (attempts.length < 4) throw new Error("away");
    });
    const start = clock.now();
    for (const event of [1, 2, 3]) queue.add(event);
    await clock.advance(10_000);
    expect(attempts.map((time) => time - start)).toEqual([0, 500, 1_500, 3_500]);
    expect(problems).toEqual([
      "Sideband: events could not be sent: away",
      "Sideband: events are sent again.",
    ]);
  });

  it("that asks to wait is left alone for so long", async () => {
    const attempts: number[] = [];
    const { clock, queue } = bench(() => {
      attempts.push(clock.now());
      if (attempts.length === 1)
        throw new WireError("overloaded", "busy", { retryable: true, retryAfterMs: 7_000 });
    });
    const start = clock.now();
    for (const event of [1, 2, 3]) queue.add(event);
    await clock.advance(20_000);
    expect(attempts.map((time) => time - start)).toEqual([0, 7_000]);
  });

  it("that goes on costs the batch; one event of the next one says how many", async () => {
    const batches: Event[][] = [];
    let works = false;
    const { clock, queue } = bench(
      (batch) => {
        if (!works) throw new Error("away");
        batches.push(batch);
      },
      { retries: 2 },
    );
    for (const event of [1, 2, 3]) queue.add(event);
    await clock.advance(10_000);
    // The next batch fails with the news of the first one in it, which must not be counted as an event.
    for (const event of [4, 5]) queue.add(event);
    await clock.advance(10_000);
    works = true;
    for (const event of [6, 7]) queue.add(event);
    await clock.advance(10_000);
    expect(batches).toEqual([[{ dropped: 5 }, 6, 7]]);
  });

  it("that another attempt would not mend drops the batch at once", async () => {
    let attempts = 0;
    const { clock, queue } = bench(() => {
      attempts++;
      throw new TroupeError("invalid_input", "no");
    });
    for (const event of [1, 2, 3]) queue.add(event);
    await clock.advance(60_000);
    expect(attempts).toBe(1);
  });

  it("an attempt without an end is given up", async () => {
    const signals: AbortSignal[] = [];
    const { clock, queue, problems } = bench(
      (_batch, signal) => {
        signals.push(signal);
        return never();
      },
      { timeoutMs: 1_000, retries: 1 },
    );
    for (const event of [1, 2, 3]) queue.add(event);
    await clock.advance(10_000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(problems).toEqual(["Sideband: events could not be sent: no end within 1000 ms"]);
  });

  it("of the log is nobody's end", async () => {
    const onProblem = () => {
      throw new Error("no log");
    };
    const batches: Event[][] = [];
    const { clock, queue } = bench(
      (batch) => {
        batches.push(batch);
        if (batches.length === 1) throw new Error("away");
      },
      { onProblem },
    );
    for (const event of [1, 2, 3]) queue.add(event);
    await clock.advance(10_000);
    expect(batches).toHaveLength(2);
  });
});

describe("bounds", () => {
  it("hold however much comes while nothing goes: the oldest are dropped", async () => {
    let works = false;
    const batches: Event[][] = [];
    const { clock, queue } = bench(
      (batch) => {
        if (!works) return never();
        batches.push(batch);
      },
      { maxQueued: 1_000, batchSize: 100, retries: 0 },
    );
    for (let event = 1; event <= 100_000; event++) queue.add(event);
    expect(queue.size).toBe(1_000);
    works = true;
    await clock.advance(20_000);
    expect(batches[0]?.slice(0, 2)).toEqual([{ dropped: 99_000 }, 99_001]);
    expect(batches.flat().at(-1)).toBe(100_000);
    expect(queue.size).toBe(0);
  });

  it("hold for characters, too", () => {
    const clock = new ManualClock();
    const queue = new BatchQueue<string, string>(never, words, { clock, maxQueuedCharacters: 10_000 });
    for (let index = 0; index < 1_000; index++) queue.add("x".repeat(1_000));
    expect(queue.size).toBe(10);
  });

  it("hold for the end: what cannot be sent is lost, and told", async () => {
    const { clock, queue, problems } = bench(never, { closeMs: 2_000 });
    for (let event = 1; event <= 10; event++) queue.add(event);
    await clock.advance(0);
    const closed = queue.close();
    await clock.advance(2_000);
    await closed;
    expect(problems.at(-1)).toBe("Sideband: 10 events could not be sent before the end.");
    expect(clock.pending).toBe(0);
  });

  it("the end does not wait for a repetition that is far away", async () => {
    let attempts = 0;
    const { clock, queue, problems } = bench(() => {
      attempts++;
      throw new WireError("overloaded", "busy", { retryable: true, retryAfterMs: 200_000 });
    });
    for (const event of [1, 2, 3, 4, 5, 6, 7]) queue.add(event);
    await clock.advance(0);
    await queue.close();
    expect(attempts).toBe(2);
    expect(problems.at(-1)).toContain("7 events");
  });

  it("that make no sense are refused", () => {
    for (const options of [{ batchSize: 0 }, { flushMs: -1 }, { maxQueued: Number.NaN }])
      expect(() => new BatchQueue(never, words, options)).toThrow(TypeError);
  });
});
