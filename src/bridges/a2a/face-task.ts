import { type Message, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk";
import type { ApprovalRequest } from "../../core/approval.js";
import { logText } from "../../core/log-text.js";
import { isRunTerminal } from "../../core/run-event.js";
import type { Cursor, Journal } from "../../journal/journal.js";
import { type EncoderOptions, TaskEncoder } from "./encoder.js";
import type { FaceEntry, FaceEvent } from "./face-host.js";
import { userMessage } from "./parts.js";
import { isFinalState, type SnapshotOptions, TaskView } from "./task-view.js";

/** What a task is told when nothing says how its run ended. */
export const LOST = "The agent's host ended before this task did.";

/** What {@link FaceTask} works with. */
export interface FaceTaskOptions extends EncoderOptions {
  readonly journal: Journal<FaceEvent>;
  readonly thread: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly now: () => number;
  /** Somebody is there for the run, although no stream is open. @returns what to call when that is over. */
  readonly reading: () => () => void;
}

/** One task: a run, read from the journal as it is written. */
export class FaceTask {
  readonly #view: TaskView;
  readonly #encoder: TaskEncoder;
  readonly #waiting = new Set<() => void>();
  #cursor = 0;
  #closed = false;
  #recovering = false;
  /** Aborts when nothing will ever say how the run ended. */
  readonly #lost = new AbortController();
  /** While the agent asks, the caller has no stream open and is there all the same. */
  #parked: (() => void) | undefined;

  constructor(readonly options: FaceTaskOptions) {
    this.#view = new TaskView(options, options.startedAt);
    this.#encoder = new TaskEncoder(options);
  }

  get id(): string {
    return this.options.taskId;
  }

  get contextId(): string {
    return this.options.contextId;
  }

  get thread(): string {
    return this.options.thread;
  }

  get state(): TaskState {
    return this.#view.state;
  }

  /** When the state last changed: ISO 8601. */
  get timestamp(): string {
    return this.#view.timestamp;
  }

  /** It can never change again. */
  get over(): boolean {
    return isFinalState(this.state);
  }

  /** It waits for its caller. */
  get asks(): boolean {
    return this.state === TaskState.TASK_STATE_INPUT_REQUIRED;
  }

  get questions(): readonly ApprovalRequest[] {
    return this.#encoder.questions;
  }

  /** Notes a message of the caller. */
  said(message: Message): void {
    this.#view.said(message);
  }

  snapshot(options: SnapshotOptions = {}): Task {
    return this.#view.snapshot(options);
  }

  /** Ends the task before it began. */
  reject(reason: string): void {
    for (const update of this.#encoder.rejected(this.options.now(), reason)) this.#view.apply(update);
    this.#closed = true;
  }

  /**
   * Reads the run to its end. Never rejects.
   * @param first the cursor of the run's first entry
   * @param unrecorded aborts when the run's end will never be in the journal
   */
  async follow(first: Promise<Cursor>, unrecorded?: AbortSignal): Promise<void> {
    try {
      this.#cursor = Number(await first) - 1;
      await this.#read(true, unrecorded);
      // It stopped waiting, and may not have seen all.
      if (!this.over) await this.#read(false);
    } catch (error) {
      console.error(`The journal of task ${this.id} cannot be read:`, logText(error));
    }
    if (!this.over) this.#lose(this.options.now());
    this.#closed = true;
    this.#unpark();
    this.#wake();
  }

  /** As {@link follow}, for a run of another host: what its caller said is in the journal, too. */
  join(first: Cursor): Promise<void> {
    this.#recovering = true;
    return this.follow(Promise.resolve(first));
  }

  /** Reads what the journal has of a run that is gone. @returns when it was last heard of; `undefined` when it never was. */
  async recover(): Promise<number | undefined> {
    this.#recovering = true;
    const last = await this.#read(false);
    if (last !== undefined && !this.over) this.#lose(last);
    this.#closed = true;
    this.#unpark();
    return last;
  }

  /** Resolves when the task is as far as the journal's `head`. */
  async reach(head: Cursor | undefined, signal?: AbortSignal): Promise<void> {
    const behind = () => this.#cursor < Number(head ?? 0);
    while (!this.#closed && behind() && signal?.aborted !== true) await this.#change(signal);
  }

  /** Resolves when the task is over or waits for its caller. */
  async settle(signal: AbortSignal): Promise<void> {
    while (!this.over && !this.asks && !signal.aborted) await this.#change(signal);
  }

  /** Resolves when the task is over. */
  async end(signal: AbortSignal): Promise<void> {
    while (!this.over && !signal.aborted) await this.#change(signal);
  }

  /**
   * The task as it is, then what follows, from exactly there; to its end, or to the next question. It is pulled: a slow reader
   * holds nobody back.
   */
  async *stream(
    signal: AbortSignal,
    options: SnapshotOptions = {},
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const encoder = this.#encoder.fork();
    const cursor = this.#cursor;
    const task = this.#view.snapshot(options);
    const over = this.over;
    yield { payload: { $case: "task", value: task } };
    if (over) return;
    // The journal is the only source, so nothing between the snapshot and here is lost or comes twice.
    for await (const entry of this.#onwards(String(Math.max(0, cursor)), signal)) {
      for (const payload of encoder.encode(entry)) {
        yield { payload };
        if (signal.aborted || rests(payload)) return;
      }
    }
    if (signal.aborted || !this.#lost.signal.aborted) return;
    for (const payload of encoder.lost(this.options.now(), LOST)) yield { payload };
  }

  /** The run's entries as they come; when its end is lost, what there is. */
  async *#onwards(from: string, signal: AbortSignal): AsyncGenerator<FaceEntry, void, undefined> {
    const { journal, thread } = this.options;
    const { signal: lost } = this.#lost;
    const until = AbortSignal.any([signal, lost]);
    let after = from;
    for (const follow of [true, false]) {
      const options = { after, follow, signal: follow ? until : signal };
      for await (const batch of journal.read(thread, options)) {
        for (const entry of batch) if (entry.runId === this.id) yield entry;
        after = batch.at(-1)?.cursor ?? after;
      }
      if (!lost.aborted) return;
    }
  }

  async #read(follow: boolean, signal?: AbortSignal): Promise<number | undefined> {
    let last: number | undefined;
    const from = { after: String(Math.max(0, this.#cursor)), follow, ...(signal && { signal }) };
    for await (const batch of this.options.journal.read(this.thread, from)) {
      for (const entry of batch) {
        this.#cursor = Number(entry.cursor);
        if (entry.runId !== this.id) continue;
        last = entry.time;
        this.#take(entry);
        if (isRunTerminal(entry.event)) return last;
      }
      this.#wake();
    }
    return last;
  }

  #take(entry: FaceEntry): void {
    const { event } = entry;
    if (this.#recovering && event.type === "run.started") {
      for (const { id, text } of event.messages) this.said(userMessage(id, this.options, text));
    }
    for (const update of this.#encoder.encode(entry)) this.#view.apply(update);
    if (this.asks) this.#parked ??= this.options.reading();
    else this.#unpark();
  }

  #unpark(): void {
    this.#parked?.();
    this.#parked = undefined;
  }

  #lose(time: number): void {
    this.#lost.abort();
    for (const update of this.#encoder.lost(time, LOST)) this.#view.apply(update);
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #change(signal?: AbortSignal): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }
}

/** Whether a stream ends after this: at the end of the task, and where its caller is asked. */
function rests(payload: NonNullable<StreamResponse["payload"]>): boolean {
  const state = payload.$case === "statusUpdate" ? payload.value.status?.state : undefined;
  return state !== undefined && (isFinalState(state) || state === TaskState.TASK_STATE_INPUT_REQUIRED);
}
