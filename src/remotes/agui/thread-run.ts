import { type Clock, sleep, type Timer } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import { TroupeError } from "../../core/errors.js";
import type { DelegationErrorCode } from "../../delegation/events.js";
import type { RemoteCancelAnswer, RemoteInput, RemoteSignal, RemoteTask } from "../../delegation/remote.js";
import type { Failure } from "../http/failure.js";
import { abortable, withOwnSignal } from "../http/own-signal.js";
import { resendAfter } from "../http/resend.js";
import type { CallOptions, Connection, Delivery } from "./connection.js";
import { Conversation } from "./conversation.js";
import { EventMapper } from "./event-mapper.js";
import type { Json } from "./json.js";
import { DRAIN_MS, deliveries, type Leg, type LegEnd } from "./leg.js";
import { runInput, taskContent } from "./request.js";
import type { Threads } from "./threads.js";

/** What a {@link ThreadRun} works with. */
export interface ThreadRunSetup {
  readonly agent: string;
  readonly connection: Connection;
  readonly threads: Threads;
  readonly threadId: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly repost: boolean;
  /** How long the agent may be out of reach, in milliseconds. */
  readonly recoveryMs: number;
  readonly stopUrl?: string;
  readonly state: boolean;
  readonly unansweredTools: "ask" | "complete";
  readonly describe: (error: unknown) => Failure;
}

/** Between two tries to find back to a run, in milliseconds. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/** Follows one task over all the runs and streams that it takes. A run is never posted twice, but where the entry says that it may. */
export class ThreadRun {
  /** The protocol's word for how the task stands. */
  status = "working";
  readonly taskId: string;
  readonly #setup: ThreadRunSetup;
  readonly #task: RemoteTask;
  readonly #mapper: EventMapper;
  readonly #call = new AbortController();
  #stopped = false;
  #accepted = false;
  #runs = 1;
  #runId: string;
  /** Where the stream of the next run is handed over; there while an answer is waited for. */
  #deliver: ((leg: Leg | undefined) => void) | undefined;
  #answering = false;
  #lostSince: number | undefined;
  #pause = FIRST_PAUSE_MS;
  #ended: () => void = () => undefined;
  readonly #end: Promise<void>;

  constructor(setup: ThreadRunSetup, task: RemoteTask) {
    this.#setup = setup;
    this.#task = task;
    this.taskId = task.delegationId;
    this.#runId = task.delegationId;
    const { messages, state } = setup.threads.recall(setup.threadId);
    const conversation = new Conversation(messages);
    conversation.ask(task.messageId, taskContent(task));
    this.#mapper = new EventMapper({
      messageId: task.messageId,
      conversation,
      unansweredTools: setup.unansweredTools,
      ...(setup.state ? { state } : {}),
    });
    this.#end = new Promise((resolve) => {
      this.#ended = resolve;
    });
  }

  /** Nothing can change any more. */
  get over(): boolean {
    return this.#mapper.over;
  }

  /** The task's signals; the last one is final or `disconnected`, unless `signal` aborts or the task was cancelled. */
  async *signals(signal: AbortSignal): AsyncGenerator<RemoteSignal, void, undefined> {
    const abort = () => this.#call.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      for await (const out of this.#follow()) {
        if (signal.aborted) return;
        this.#note(out);
        yield out;
      }
      if (this.#stopped && !this.#mapper.over && !signal.aborted)
        yield { type: "disconnected", message: "The host closed its connections to the agent." };
    } finally {
      signal.removeEventListener("abort", abort);
      this.#call.abort();
      this.#ended();
    }
  }

  /** The host goes down: the iteration ends with `disconnected`. */
  stop(): void {
    this.#stopped = true;
    this.#call.abort();
  }

  /**
   * Answers what the run asked when it ended, by a new run of the thread. What follows comes out of {@link signals}.
   * @throws TroupeError when the server did not take it.
   */
  async answer(input: RemoteInput, signal: AbortSignal): Promise<void> {
    const deliver = this.#deliver;
    if (deliver === undefined || this.#answering || this.#call.signal.aborted)
      throw new TroupeError<DelegationErrorCode>("nothing_asked", "The remote agent waits for no answer.");
    this.#answering = true;
    try {
      const resumption = this.#mapper.resume(input);
      const runId = `${this.#task.delegationId}-${this.#runs + 1}`;
      const leg = await this.#openAnswer(this.#input(runId, this.#runId, resumption), signal);
      this.#mapper.resumed(resumption);
      this.#runs++;
      this.#runId = runId;
      this.#deliver = undefined;
      // Whoever answered is told first, then what follows.
      setImmediate(() => deliver(leg));
    } finally {
      this.#answering = false;
    }
  }

  /** Stops the run where the server offers it, and leaves it otherwise. Never rejects. */
  async cancel(signal: AbortSignal): Promise<RemoteCancelAnswer> {
    if (this.#mapper.over) return this.#verdict();
    const nothingRuns = this.#deliver !== undefined && !this.#answering;
    let detail = "AG-UI has no cancel: the connection was closed, and the agent may go on";
    if (!nothingRuns && this.#setup.stopUrl !== undefined) {
      try {
        await withOwnSignal(signal, (own) =>
          this.#setup.connection.stop(this.#stopUrl(), this.#options(own)),
        );
        await abortable(this.#end, signal);
        if (this.#mapper.over) return this.#verdict();
      } catch (error) {
        detail = signal.aborted ? "the agent did not answer in time" : this.#setup.describe(error).message;
      }
    }
    this.#call.abort();
    return nothingRuns ? { outcome: "cancelled" } : { outcome: "pending", detail };
  }

  #verdict(): RemoteCancelAnswer {
    return this.status === "cancelled"
      ? { outcome: "cancelled" }
      : { outcome: "already_over", remoteStatus: this.status };
  }

  #note(signal: RemoteSignal): void {
    if (signal.type === "completed" || signal.type === "cancelled") this.status = signal.type;
    if (signal.type === "failed") this.status = signal.remoteStatus ?? "failed";
    if (signal.type === "input_required") this.status = "input-required";
    if (signal.type === "completed")
      this.#setup.threads.keep(this.#setup.threadId, this.#mapper.conversation, this.#mapper.state);
  }

  async *#follow(): AsyncGenerator<RemoteSignal, void, undefined> {
    let leg: Leg | undefined = yield* this.#start();
    while (leg !== undefined) {
      const current: Leg = leg;
      let next: Promise<Leg | undefined> | undefined;
      const end: LegEnd = yield* this.#read(current, () => {
        next = this.#wait();
      });
      if (end.type === "over" || this.#call.signal.aborted) return;
      leg = end.type === "asked" ? await next : yield* this.#regain(current, end.message);
    }
  }

  /** The next run's stream; `undefined` when the task is left meanwhile. */
  #wait(): Promise<Leg | undefined> {
    return new Promise((resolve) => {
      const abort = () => resolve(undefined);
      this.#call.signal.addEventListener("abort", abort, { once: true });
      this.#deliver = (leg) => {
        this.#call.signal.removeEventListener("abort", abort);
        if (this.#call.signal.aborted) leg?.abort();
        resolve(leg);
      };
    });
  }

  /** The first stream; what was certainly not received is sent again. */
  async *#start(): AsyncGenerator<RemoteSignal, Leg | undefined> {
    const { clock, random } = this.#setup;
    for (let attempt = 1; !this.#call.signal.aborted; attempt++) {
      try {
        return await this.#open(this.#input(this.#runId));
      } catch (error) {
        if (this.#call.signal.aborted) return undefined;
        const wait = resendAfter(error, attempt, random());
        if (wait === undefined) {
          yield this.#failed(error);
          return undefined;
        }
        await sleep(clock, wait, this.#call.signal);
      }
    }
    return undefined;
  }

  async *#read(leg: Leg, asked: () => void): AsyncGenerator<RemoteSignal, LegEnd> {
    let drain: Timer | undefined;
    let left = false;
    let loss: unknown;
    try {
      for await (const { event, id } of deliveries(leg)) {
        leg.lastEventId = id ?? leg.lastEventId;
        this.#lostSince = undefined;
        this.#pause = FIRST_PAUSE_MS;
        yield* this.#accept();
        yield* this.#mapper.map(event);
        if (this.#mapper.over) return { type: "over" };
        drain?.cancel();
        const { ending } = this.#mapper;
        if (ending === "no") continue;
        drain = this.#setup.clock.timer(DRAIN_MS[ending], () => {
          left = true;
          leg.abort();
        });
      }
    } catch (error) {
      if (!left) loss = error;
    } finally {
      drain?.cancel();
      leg.release();
    }
    if (this.#call.signal.aborted) return { type: "over" };
    const { ending, heard } = this.#mapper;
    if (loss === undefined || ending === "now" || ending === "soon") {
      const last = this.#mapper.end();
      // Before it is told: who hears of the question may answer at once, and then it waits no more.
      const { waits, over } = this.#mapper;
      if (waits) asked();
      yield* last;
      if (over) return { type: "over" };
      if (waits) return { type: "asked" };
    }
    if (loss !== undefined) {
      const failure = this.#setup.describe(loss);
      if (failure.code === "stream_interrupted") return { type: "lost", message: failure.message };
      yield this.#failed(loss);
      return { type: "over" };
    }
    const agent = `The agent "${this.#setup.agent}"`;
    if (heard)
      return { type: "lost", message: `${agent} closed its stream without saying how its run ended.` };
    // What some runtimes answer for a thread in which an earlier run still works.
    const message = `${agent} answered without a single event: it is busy with this thread, or gone.`;
    yield { type: "failed", code: "agent_unavailable", retryable: true, message, remoteStatus: "unknown" };
    return { type: "over" };
  }

  *#accept(): Generator<RemoteSignal, void> {
    if (this.#accepted) return;
    this.#accepted = true;
    yield { type: "accepted", taskId: this.taskId, contextId: this.#setup.threadId };
  }

  /** Goes on with a run whose stream was lost, where the server can. */
  async *#regain(leg: Leg, message: string): AsyncGenerator<RemoteSignal, Leg | undefined> {
    const { clock, random, repost, recoveryMs } = this.#setup;
    const { lastEventId } = leg;
    if (!repost || lastEventId === undefined) {
      yield { type: "disconnected", message };
      return undefined;
    }
    let words = message;
    if (this.#lostSince === undefined) yield { type: "status", status: "reconnecting", message };
    this.#lostSince ??= clock.now();
    while (!this.#call.signal.aborted) {
      if (clock.now() - this.#lostSince >= recoveryMs) {
        yield { type: "disconnected", message: words };
        return undefined;
      }
      await sleep(clock, Math.round(this.#pause * (0.75 + random() / 2)), this.#call.signal);
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
      if (this.#call.signal.aborted) return undefined;
      try {
        return await this.#open(leg.input, lastEventId);
      } catch (error) {
        if (this.#call.signal.aborted) return undefined;
        const failure = this.#setup.describe(error);
        words = failure.message;
        if (failure.code === "stream_interrupted" || failure.retryable || failure.ambiguous) continue;
        yield { type: "disconnected", message: words };
        return undefined;
      }
    }
    return undefined;
  }

  async #open(input: Json, lastEventId?: string): Promise<Leg> {
    const controller = new AbortController();
    const abort = () => controller.abort(this.#call.signal.reason);
    const release = () => this.#call.signal.removeEventListener("abort", abort);
    this.#call.signal.addEventListener("abort", abort, { once: true });
    if (this.#call.signal.aborted) abort();
    try {
      const call = { ...this.#options(controller.signal), ...defined({ lastEventId }) };
      const events = await this.#setup.connection.run(input, call);
      return { input, events, abort: () => controller.abort(), release, lastEventId };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** A run that answers. @returns it with its first event: only then the answer was taken. */
  async #openAnswer(input: Json, signal: AbortSignal): Promise<Leg> {
    const { agent, describe } = this.#setup;
    let leg: Leg | undefined;
    const opening = this.#open(input);
    // Given up while it is under way: nobody would read it.
    void opening.then((late) => signal.aborted && leg === undefined && late.abort()).catch(() => undefined);
    let first: IteratorResult<Delivery, void>;
    try {
      leg = await abortable(opening, signal);
      first = await abortable(leg.events.next(), signal);
    } catch (error) {
      leg?.abort();
      leg?.release();
      if (signal.aborted)
        throw new TroupeError<DelegationErrorCode>(
          "stream_interrupted",
          `The agent "${agent}" did not take the answer in time.`,
        );
      const { code, message, retryable } = describe(error);
      throw new TroupeError<DelegationErrorCode>(code, message, { retryable });
    }
    if (!first.done) return { ...leg, first: first.value };
    leg.release();
    throw new TroupeError<DelegationErrorCode>(
      "stream_interrupted",
      `The agent "${agent}" ended the call without taking the answer.`,
      { retryable: true },
    );
  }

  #input(
    runId: string,
    parentRunId?: string,
    { resume, command, results }: Partial<ReturnType<EventMapper["resume"]>> = {},
  ): Json {
    const { conversation, state } = this.#mapper;
    const answers = (results ?? []).map(({ toolCallId, content }) => ({
      id: `${toolCallId}-result`,
      role: "tool",
      toolCallId,
      content,
    }));
    return runInput({
      threadId: this.#setup.threadId,
      runId,
      messages: [...conversation.messages, ...answers],
      state,
      resume: resume ?? [],
      forwardedProps: {
        ...this.#task.metadata,
        ...(command === undefined ? {} : { command: { resume: command } }),
      },
      ...defined({ parentRunId }),
    });
  }

  #stopUrl(): string {
    return (this.#setup.stopUrl ?? "")
      .replaceAll("{runId}", encodeURIComponent(this.#runId))
      .replaceAll("{threadId}", encodeURIComponent(this.#setup.threadId));
  }

  #failed(error: unknown): RemoteSignal {
    const { code, message, retryable } = this.#setup.describe(error);
    return { type: "failed", code, message, retryable };
  }

  #options(signal: AbortSignal): CallOptions {
    const { delegationId, run, traceparent } = this.#task;
    return { signal, delegationId, ...defined({ run, traceparent }) };
  }
}
