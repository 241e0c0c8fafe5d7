import type { ThreadEvent } from "../bridges/agui/event.js";
import type { Agent } from "../core/agent.js";
import type { Clock, Timer } from "../core/clock.js";
import { defined } from "../core/defined.js";
import { errorText, TroupeError } from "../core/errors.js";
import { logText } from "../core/log-text.js";
import type { Run } from "../core/run.js";
import { type ErrorInfo, isRunTerminal, type RunEvent, type UserMessage } from "../core/run-event.js";
import type { RunService } from "../core/run-service.js";
import { startOf } from "../core/text.js";
import type { ThreadChoice } from "../core/thread.js";
import { markOf } from "../drivers/process/orphans.js";
import type { Cursor, JournalEntry } from "../journal/journal.js";

/** A run as the host knows it. */
export interface RunRecord {
  readonly runId: string;
  /** The journal's key. */
  readonly thread: string;
  readonly agent: string;
  /** The beginning of the person's message. */
  readonly title?: string;
  /** Absent when it is over: what it holds, its program's output above all, must not live as long as this record. */
  run?: Run;
  readonly startedAt: number;
  status: "running" | "finished" | "failed" | "cancelled";
  endedAt?: number;
  error?: ErrorInfo;
  /** An earlier process, or another one, ran it: all that is known of it is in the journal. */
  readonly recorded?: true;
  /** The cursor of its first entry, once recorded. */
  readonly first: Promise<Cursor>;
  /** The cursor of its terminal event, once recorded. */
  last?: Cursor;
  /** Aborts when the journal did not take its terminal event: who waits for that in the journal waits for ever. */
  readonly unrecorded?: AbortSignal;
}

/** What a new run needs. */
export interface StartRun extends ThreadChoice {
  readonly agent: string;
  readonly thread: string;
  readonly runId: string;
  readonly messages: readonly UserMessage[];
  /** What was said before, for a program that has no conversation of its own to go on from. */
  readonly history?: string;
  /** In place of an agent that everybody may name. */
  readonly parent?: Agent;
  /** Goes to the services as it is. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Cancel it when nobody reads it for this long, in milliseconds; never when absent. */
  readonly disconnectGraceMs?: number;
}

/** What {@link Runs} works with. */
export interface RunsOptions {
  readonly agents: ReadonlyMap<string, Agent>;
  /** Appends to a thread's journal. */
  readonly record: (thread: string, runId: string, event: RunEvent) => Promise<JournalEntry<ThreadEvent>>;
  readonly services: readonly RunService[];
  readonly clock: Clock;
  /** Told of each run before its first event. Must not throw. */
  readonly starting?: (run: Pick<StartRun, "agent" | "thread" | "runId" | "metadata">) => void;
  /** Runs at once; each has a program of its own. */
  readonly maxActive?: number;
  /** Looks for runs, of one thread or of all, that were recorded by others. */
  readonly recorded?: (runId: string, thread?: string) => Promise<readonly RunRecord[]>;
}

interface Readers {
  count: number;
  readonly graceMs: number;
  timer?: Timer;
}

const DEFAULT_MAX_ACTIVE = 100;

/** Ended runs whose record stays readable. */
const KEEP_ENDED = 10_000;

/** Characters of a message that name its run. */
const TITLE_LENGTH = 120;

/** The beginning of a person's message, on one line. */
export function titleOf(messages: readonly UserMessage[]): string {
  const text = startOf(messages.map((message) => message.text).join(" "), 4 * TITLE_LENGTH);
  return startOf(text.replace(/\s+/g, " ").trim(), TITLE_LENGTH);
}

/** Starts runs, one at a time in a thread, and writes them into the journal. */
export class Runs {
  readonly #records = new Map<string, RunRecord>();
  /** Clients choose run ids, so two threads may have the same. */
  readonly #byId = new Map<string, RunRecord[]>();
  /** Oldest first in each thread. */
  readonly #byThread = new Map<string, RunRecord[]>();
  readonly #active = new Map<string, RunRecord>();
  readonly #readers = new Map<RunRecord, Readers>();
  readonly #ended: RunRecord[] = [];
  #closed = false;

  constructor(private readonly options: RunsOptions) {}

  find(thread: string, runId: string): RunRecord | undefined {
    return this.#records.get(key(thread, runId));
  }

  /** The newest run with this id in a thread for which `mine` holds. */
  byId(runId: string, mine: (thread: string) => boolean): RunRecord | undefined {
    return this.#byId.get(runId)?.findLast(({ thread }) => mine(thread));
  }

  /** As {@link find}, but looks into the journal as well. */
  async recall(thread: string, runId: string): Promise<RunRecord | undefined> {
    const known = this.find(thread, runId);
    if (known !== undefined) return known;
    const recorded = await this.options.recorded?.(runId, thread);
    return this.#remember(recorded?.at(-1));
  }

  /** As {@link byId}, but looks into the journal as well. */
  async recallById(runId: string, mine: (thread: string) => boolean): Promise<RunRecord | undefined> {
    const known = this.byId(runId, mine);
    if (known !== undefined) return known;
    const recorded = await this.options.recorded?.(runId);
    return this.#remember(recorded?.findLast(({ thread }) => mine(thread)));
  }

  /** The run that goes on in a thread now. */
  activeIn(thread: string): RunRecord | undefined {
    return this.#active.get(thread);
  }

  /** The runs that are known of each thread for which `mine` holds, oldest first in a thread; threads in no order. */
  threads(mine: (thread: string) => boolean): (readonly RunRecord[])[] {
    return [...this.#byThread].filter(([thread]) => mine(thread)).map(([, records]) => records);
  }

  /** Runs of all threads for which `mine` holds. */
  active(mine: (thread: string) => boolean): RunRecord[] {
    return [...this.#active.values()].filter(({ thread }) => mine(thread));
  }

  /**
   * Starts a run, or gives the one that already has this id in this thread.
   * @throws TroupeError `agent_not_found`, `thread_busy`, `host_busy`, `invalid_input` when there is nothing to answer, `host_closed`.
   */
  start({ disconnectGraceMs, ...wanted }: StartRun): RunRecord {
    const { agent: name, thread, runId, messages } = wanted;
    const known = this.find(thread, runId);
    if (known !== undefined) return known;
    if (this.#closed) throw new TroupeError("host_closed", "The host is closing.", { retryable: true });
    const agent = wanted.parent ?? this.options.agents.get(name);
    if (agent === undefined)
      throw new TroupeError(
        "agent_not_found",
        `There is no agent "${name}". Agents: ${[...this.options.agents.keys()].join(", ")}.`,
      );
    const busy = this.#active.get(thread);
    if (busy !== undefined) {
      throw new TroupeError(
        "thread_busy",
        `Run ${busy.runId} is still working in this thread. Wait for its end, or cancel it.`,
        { retryable: true },
      );
    }
    const { maxActive = DEFAULT_MAX_ACTIVE } = this.options;
    if (this.#active.size >= maxActive) {
      const text = `This host runs ${maxActive} agents already. Try again when one of them is done.`;
      throw new TroupeError("host_busy", text, { retryable: true });
    }
    if (messages.length === 0)
      throw new TroupeError("invalid_input", "messages: the last message has to be the person's, with text.");
    const record = this.#launch(agent, wanted);
    this.#keep(record);
    this.#active.set(thread, record);
    if (disconnectGraceMs !== undefined) {
      const readers: Readers = { count: 0, graceMs: disconnectGraceMs };
      this.#readers.set(record, readers);
      // Whoever asked for it may be gone before it reads anything.
      this.#leaveAlone(record, readers);
    }
    return record;
  }

  /** A reader of the run's thread has come. @returns what to call when it leaves. */
  reading(thread: string): () => void {
    const record = this.#active.get(thread);
    const readers = record === undefined ? undefined : this.#readers.get(record);
    if (record === undefined || readers === undefined) return () => undefined;
    readers.count++;
    readers.timer?.cancel();
    let left = false;
    return () => {
      if (left) return;
      left = true;
      readers.count--;
      if (readers.count === 0 && record.status === "running") this.#leaveAlone(record, readers);
    };
  }

  /** Somebody reads the thread at another host. */
  readElsewhere(thread: string): void {
    this.reading(thread)();
  }

  #leaveAlone(record: RunRecord, readers: Readers): void {
    readers.timer?.cancel();
    readers.timer = this.options.clock.timer(
      readers.graceMs,
      () => void record.run?.cancel("nobody was watching"),
    );
  }

  /** Starts no more runs; resolves when those that run are over. */
  async drain(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#active.values()].map(({ run }) => run?.result.catch(() => undefined)));
  }

  /** Cancels everything; resolves when no process is left. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#active.values()].map(({ run }) => run?.cancel("the host is closing")));
  }

  #launch(agent: Agent, wanted: Omit<StartRun, "disconnectGraceMs">): RunRecord {
    const { agent: name, thread, runId, messages, metadata, history, threadMode, threadFrom } = wanted;
    const first = deferred<Cursor>();
    first.promise.catch(() => undefined);
    const unrecorded = new AbortController();
    this.options.starting?.({ thread, runId, agent: agent.name, ...defined({ metadata }) });
    const run = agent.run(messages.map(({ text }) => text).join("\n\n"), {
      runId,
      thread,
      messages,
      services: [claim(first.promise, markOf({ thread, runId })), ...this.options.services],
      ...defined({ metadata, history, threadMode, threadFrom }),
      onEvent: (event) => void this.#record(record, event, first, unrecorded),
    });
    const record: RunRecord = {
      runId,
      thread,
      agent: name,
      title: titleOf(messages),
      run,
      startedAt: this.options.clock.now(),
      status: "running",
      first: first.promise,
      unrecorded: unrecorded.signal,
    };
    return record;
  }

  async #record(
    record: RunRecord,
    event: RunEvent,
    first: Deferred<Cursor>,
    unrecorded: AbortController,
  ): Promise<void> {
    const { thread, runId } = record;
    const terminal = isRunTerminal(event);
    if (terminal) this.#finish(record, event);
    try {
      const { cursor } = await this.options.record(thread, runId, event);
      if (event.type === "run.started") first.resolve(cursor);
      if (terminal) record.last = cursor;
    } catch (error) {
      // A run that has begun goes on; who wants to read it is told.
      if (event.type === "run.started") first.reject(error);
      if (terminal) unrecorded.abort();
      const { code, cause } = Object(error) as { code?: unknown; cause?: unknown };
      // It is closed later as one that was left open, so that is what is told of it.
      if (terminal && cause !== undefined) {
        record.status = "failed";
        record.error = { code: "host_stopped", message: errorText(error), retryable: true };
      }
      // Another host has this thread, or this very run: here is nothing to be remembered of it.
      if (code === "thread_busy") this.#forget(record);
      else if (code !== "taken_over")
        console.error(`The journal did not take ${event.type} of run ${runId}:`, logText(error));
    }
  }

  #finish(record: RunRecord, event: RunEvent): void {
    record.endedAt = this.options.clock.now();
    record.status =
      event.type === "run.finished" ? "finished" : event.type === "run.failed" ? "failed" : "cancelled";
    if (event.type === "run.failed") record.error = event.error;
    delete record.run;
    this.#active.delete(record.thread);
    this.#readers.get(record)?.timer?.cancel();
    this.#readers.delete(record);
    this.#keepEnded(record);
  }

  /** What goes on elsewhere will be different the next time. */
  #remember(record: RunRecord | undefined): RunRecord | undefined {
    if (record === undefined || record.status === "running") return record;
    const known = this.find(record.thread, record.runId);
    if (known !== undefined) return known;
    this.#keep(record);
    this.#keepEnded(record);
    return record;
  }

  #keep(record: RunRecord): void {
    const { thread, runId } = record;
    this.#records.set(key(thread, runId), record);
    this.#byId.set(runId, [...(this.#byId.get(runId) ?? []), record]);
    const inThread = this.#byThread.get(thread) ?? [];
    this.#byThread.set(thread, inThread);
    // What is remembered from the journal is older than what was started here.
    const after = inThread.findLastIndex(({ startedAt }) => startedAt <= record.startedAt);
    inThread.splice(after + 1, 0, record);
  }

  #keepEnded(record: RunRecord): void {
    this.#ended.push(record);
    const oldest = this.#ended.length > KEEP_ENDED ? this.#ended.shift() : undefined;
    if (oldest !== undefined) this.#forget(oldest);
  }

  #forget(record: RunRecord): void {
    this.#records.delete(key(record.thread, record.runId));
    const left = (this.#byId.get(record.runId) ?? []).filter((other) => other !== record);
    if (left.length > 0) this.#byId.set(record.runId, left);
    else this.#byId.delete(record.runId);
    const inThread = this.#byThread.get(record.thread) ?? [];
    const place = inThread.indexOf(record);
    if (place >= 0) inThread.splice(place, 1);
    if (inThread.length === 0) this.#byThread.delete(record.thread);
  }
}

/** Nothing is done for a run before it is on record: another host may be working in its thread. */
function claim(first: Promise<Cursor>, env: Readonly<Record<string, string>>): RunService {
  return {
    name: "record",
    async attach() {
      await first;
      return { env, detach: async () => undefined };
    },
  };
}

interface Deferred<Value> {
  readonly promise: Promise<Value>;
  resolve(value: Value): void;
  reject(error: unknown): void;
}

function deferred<Value>(): Deferred<Value> {
  let resolve: (value: Value) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<Value>((take, refuse) => {
    resolve = take;
    reject = refuse;
  });
  return { promise, resolve, reject };
}

function key(thread: string, runId: string): string {
  return `${thread}\u0000${runId}`;
}
