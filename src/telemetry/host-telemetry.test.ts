import { describe, expect, it } from "vitest";
import type { Journal } from "../journal/journal.js";
import { createMemoryJournal, type MemoryJournalOptions } from "../journal/memory-journal.js";
import { ManualClock } from "../testing/manual-clock.js";
import { openHostTelemetry } from "./host-telemetry.js";
import type { ObservedEntry, ObservedEvent, Telemetry } from "./telemetry.js";

const THREAD = "/t";
const started = (agent = "claude"): ObservedEvent => ({ type: "run.started", agent, messages: [] });
const finished: ObservedEvent = { type: "run.finished", text: "" };
const delta = (text: string): ObservedEvent => ({ type: "text.delta", messageId: "m", delta: text });
const identity = (runId: string) =>
  ({ runId, delegationId: "del-1", agentKey: "r", agentName: "R", protocol: "a2a" }) as const;

/** A journal whose readers and failures can be looked at and made. */
class Watched {
  reads = 0;
  open = 0;
  failReads = 0;
  failAppends = false;
  readonly journal: Journal<ObservedEvent>;

  constructor(clock: ManualClock, options: MemoryJournalOptions = {}) {
    const inner = createMemoryJournal<ObservedEvent>({ clock, ...options });
    this.journal = {
      append: (entry) => (this.failAppends ? Promise.reject(new Error("full")) : inner.append(entry)),
      read: (thread, how) => this.#read(inner.read(thread, how)),
      head: (thread) => inner.head(thread),
      close: () => inner.close(),
    };
  }

  async *#read(batches: AsyncIterable<readonly ObservedEntry[]>): AsyncGenerator<readonly ObservedEntry[]> {
    this.reads++;
    this.open++;
    try {
      if (this.failReads-- > 0) throw new Error("cannot read");
      yield* batches;
    } finally {
      this.open--;
    }
  }
}

async function bench(options: MemoryJournalOptions = {}) {
  const clock = new ManualClock();
  const watched = new Watched(clock, options);
  const seen: ObservedEntry[] = [];
  const dropped: string[] = [];
  const errors: string[] = [];
  const telemetry: Telemetry = {
    open: () => undefined,
    observe: (entries) => void seen.push(...entries),
    runDropped: ({ runId }) => void dropped.push(runId),
    close: async () => undefined,
  };
  const host = await openHostTelemetry([telemetry], {
    journal: watched.journal,
    clock,
    describeThread: (threadId) => ({ threadId }),
    onError: (error) => errors.push(String(error)),
  });
  if (host === undefined) throw new Error("no telemetry");
  /** Records an event as the host does. */
  const record = (runId: string, event: ObservedEvent) => {
    const appended = watched.journal.append({ thread: THREAD, runId, event });
    host.recorded({ thread: THREAD, runId }, event, appended);
    appended.catch(() => undefined);
    return clock.advance(0);
  };
  const told = () => seen.map(({ runId, event }) => `${runId} ${event.type}`);
  return { clock, watched, host, record, told, dropped, errors };
}

describe("a thread is read", () => {
  it("as long as a run goes on in it, each entry once", async () => {
    const { watched, host, record, told } = await bench();
    await record("run-1", started());
    expect(watched.open).toBe(1);
    await record("run-1", delta("x"));
    await record("run-1", finished);
    expect(watched.open).toBe(0);
    await record("run-2", started());
    await record("run-2", finished);
    expect(watched).toMatchObject({ open: 0, reads: 2 });
    expect(told()).toEqual([
      "run-1 run.started",
      "run-1 text.delta",
      "run-1 run.finished",
      "run-2 run.started",
      "run-2 run.finished",
    ]);
    await host.close();
  });

  it("by nobody before the first run, nor with no telemetry at all", async () => {
    const { watched, host, clock } = await bench();
    await clock.advance(60_000);
    expect(watched.reads).toBe(0);
    await host.close();
    const none = await openHostTelemetry([], {
      journal: watched.journal,
      clock,
      describeThread: (threadId) => ({ threadId }),
      onError: () => undefined,
    });
    expect(none).toBeUndefined();
  });

  it("on while a delegation outlives its run, whose first entry comes after the run's last", async () => {
    const { watched, host, record, told } = await bench();
    await record("run-1", started());
    host.delegationStarting(
      { thread: THREAD, runId: "run-1" },
      { ...identity("run-1"), tool: "delegate_to_agent" },
    );
    await record("run-1", finished);
    expect(watched.open).toBe(1);
    const common = identity("run-1");
    // What holds late work is a run of its own, and no agent's.
    await watched.journal.append({ thread: THREAD, runId: "late-1", event: started("R") });
    await record("run-1", { ...common, type: "subagent.started", objective: "", correlation: "none" });
    await record("run-1", { ...common, type: "subagent.finished", result: {}, sizes: { seen: 0, model: 0 } });
    expect(told().slice(2)).toEqual(["run-1 subagent.started", "run-1 subagent.finished"]);
    expect(watched.open).toBe(0);
  });

  it("without what other hosts run in it", async () => {
    const { watched, record, told, clock } = await bench();
    await record("run-1", started());
    await watched.journal.append({ thread: THREAD, runId: "foreign", event: started() });
    await clock.advance(0);
    await record("run-1", finished);
    expect(told()).toEqual(["run-1 run.started", "run-1 run.finished"]);
  });
});

describe("a journal that fails", () => {
  it("while it is read is read again, later each time, and the log is told once", async () => {
    const { watched, record, told, errors, clock } = await bench();
    watched.failReads = 3;
    await record("run-1", started());
    await record("run-1", delta("x"));
    expect(told()).toEqual([]);
    await clock.advance(500 + 1_000 + 2_000);
    expect(told()).toEqual(["run-1 run.started", "run-1 text.delta"]);
    expect(errors).toEqual(["Error: cannot read"]);
    await record("run-1", finished);
    expect(watched).toMatchObject({ open: 0, reads: 4 });
    expect(clock.pending).toBe(0);
  });

  it("and does not take a run's end: operators see the end all the same", async () => {
    const { watched, record, told } = await bench();
    await record("run-1", started());
    watched.failAppends = true;
    await record("run-1", finished);
    expect(told()).toEqual(["run-1 run.started", "run-1 run.finished"]);
    expect(watched.open).toBe(0);
  });

  it("and does not take a run's beginning: nothing is waited for", async () => {
    const { watched, record, told, dropped } = await bench();
    watched.failAppends = true;
    await record("run-1", started());
    expect(dropped).toEqual(["run-1"]);
    watched.failAppends = false;
    await record("run-2", started());
    await record("run-2", finished);
    expect(told()).toEqual(["run-2 run.started", "run-2 run.finished"]);
    expect(watched.open).toBe(0);
  });
});

it("the end of the host hands on what is recorded, although nothing was read yet", async () => {
  const { watched, host, told } = await bench();
  const append = (event: ObservedEvent) => {
    const appended = watched.journal.append({ thread: THREAD, runId: "run-1", event });
    host.recorded({ thread: THREAD, runId: "run-1" }, event, appended);
  };
  append(started());
  append(delta("x"));
  await host.close();
  expect(told()).toEqual(["run-1 run.started", "run-1 text.delta"]);
  expect(watched.open).toBe(0);
});

it("telemetry that cannot open keeps the host from starting, and the others are closed", async () => {
  const clock = new ManualClock();
  let closed = 0;
  const good: Telemetry = {
    open: () => undefined,
    observe: () => undefined,
    close: async () => void closed++,
  };
  const bad: Telemetry = { ...good, open: () => Promise.reject(new Error("no package")) };
  const opening = openHostTelemetry([good, bad], {
    journal: createMemoryJournal<ObservedEvent>({ clock }),
    clock,
    describeThread: (threadId) => ({ threadId }),
    onError: () => undefined,
  });
  await expect(opening).rejects.toThrow("no package");
  expect(closed).toBe(1);
});
