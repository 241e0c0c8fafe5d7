import type { SendMessageRequest, StreamResponse } from "@a2a-js/sdk";
import { type Clock, sleep, type Timer, withinTime } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import { TroupeError } from "../../core/errors.js";
import type { DelegationErrorCode } from "../../delegation/events.js";
import type { RemoteInput, RemoteSignal, RemoteTask, RemoteTaskReference } from "../../delegation/remote.js";
import { WireError } from "../../wire/errors.js";
import { abortable, withOwnSignal } from "../http/own-signal.js";
import { resendAfter } from "../http/resend.js";
import { AnswerDesk, type Source } from "./answer-desk.js";
import type { CallOptions, Delivery, TaskChannel } from "./channel.js";
import { type Failure, isRefusal, isTaskNotFound } from "./failure.js";
import { answerRequest, sendRequest } from "./request.js";
import { send } from "./send.js";
import { StreamMapper } from "./stream-mapper.js";
import { isFinal } from "./words.js";

/** What a {@link TaskRun} works with. */
export interface TaskRunSetup {
  readonly agent: string;
  readonly channel: TaskChannel;
  /** Whether the agent can stream; otherwise it is polled. */
  readonly streaming: boolean;
  readonly clock: Clock;
  readonly random: () => number;
  /** How long the agent may be out of reach, in milliseconds. */
  readonly recoveryMs: number;
  /** How long a lost task may stay as it is, in milliseconds. */
  readonly quietMs: number;
  readonly redact: (text: string) => string;
  readonly describe: (error: unknown) => Failure;
  /** Called when the remote gives the task a name, or another one. */
  readonly named: (taskId: string) => void;
}

/** A task that is sent, or one that was. */
export type TaskToFollow = Pick<RemoteTask, "delegationId" | "messageId" | "run" | "traceparent"> &
  Partial<RemoteTask>;

/** How the reading of one source ended. */
type SourceEnd =
  | { readonly type: "over" }
  | { readonly type: "open" }
  | { readonly type: "lost"; readonly message: string };

/** How long a stream may stay open after the final state, in milliseconds; some never close it. */
const DRAIN_MS = 500;
/** Between two looks at a task, in milliseconds. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
/** While a question waits, a look now and then also keeps the connection alive that some agents tie the question to. */
const ASKED_PAUSE_MS = 2_000;
const LOOK_TIMEOUT_MS = 15_000;
/** Subscriptions in a row that gave nothing, after which the task is polled. */
const IDLE_SUBSCRIPTIONS = 2;

/**
 * Follows one task from its send to its end over every connection that it takes: looks once after a loss, subscribes, or else
 * polls. The message is never sent twice once it may have been received.
 */
export class TaskRun {
  readonly #setup: TaskRunSetup;
  readonly #task: TaskToFollow;
  #resumed = false;
  readonly #mapper: StreamMapper;
  readonly #call = new AbortController();
  #stopped = false;
  readonly #desk = new AnswerDesk();
  #answers = 0;
  /** Streams that stay open, unread, because some agents tie the task to them. */
  readonly #held: AsyncGenerator<Delivery, void, undefined>[] = [];
  #canSubscribe: boolean;
  #idleSubscriptions = 0;
  /** A loss was told, and nothing new has come since. */
  #announced = false;
  #losses = 0;
  /** Since when nothing has changed; set by a loss. */
  #quietSince: number | undefined;

  /** @param reference a task that was started before: it is followed, and nothing is sent. */
  constructor(setup: TaskRunSetup, task: TaskToFollow, reference?: RemoteTaskReference) {
    this.#setup = setup;
    this.#task = task;
    this.#canSubscribe = setup.streaming;
    const { redact, streaming } = setup;
    this.#mapper = new StreamMapper({ redact, streaming, ...defined({ reference }) });
    if (reference === undefined) return;
    this.#resumed = true;
    // As after any loss: what the task holds at its end counts, and it must not stay as it is for ever.
    this.#losses = 1;
    this.#announced = true;
    this.#quietSince = setup.clock.now();
  }

  /** The task's signals; the last one is final or `disconnected`, unless `signal` aborts. */
  async *signals(signal: AbortSignal): AsyncGenerator<RemoteSignal, void, undefined> {
    const abort = () => this.#call.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      for await (const out of this.#follow()) {
        if (signal.aborted) return;
        yield out;
      }
      if (this.#stopped && !this.#mapper.over && !signal.aborted) {
        yield { type: "disconnected", message: "The host closed its connections to the agent." };
      }
    } finally {
      signal.removeEventListener("abort", abort);
      // A reason of our own: the platform's would be an error with a stack.
      this.#call.abort("over");
      for (const events of this.#held) void events.return().catch(() => undefined);
    }
  }

  /** The host goes down: the iteration ends with `disconnected`. */
  stop(): void {
    this.#stopped = true;
    this.#call.abort();
  }

  /**
   * Answers what the task asks. What follows comes out of {@link signals}.
   * @throws TroupeError when the remote did not take it.
   */
  async answer(input: RemoteInput, signal: AbortSignal): Promise<void> {
    const reference = this.#mapper.reference;
    if (reference === undefined || !this.#desk.open) {
      throw new TroupeError<DelegationErrorCode>("nothing_asked", "The remote agent waits for no answer.");
    }
    const messageId = `${this.#task.messageId}-answer-${++this.#answers}`;
    const request = answerRequest(reference, input, messageId, !this.#setup.streaming);
    await this.#desk.send(this.#sendAnswer(request, signal));
  }

  async #sendAnswer(request: SendMessageRequest, signal: AbortSignal): Promise<Source> {
    const { describe, agent } = this.#setup;
    const events = this.#send(request);
    let first: IteratorResult<Delivery, void>;
    try {
      first = await abortable(events.next(), signal);
    } catch (error) {
      void events.return().catch(() => undefined);
      if (signal.aborted) {
        throw new TroupeError<DelegationErrorCode>(
          "stream_interrupted",
          `The agent "${agent}" did not take the answer in time.`,
        );
      }
      const { code, message, retryable } = describe(error);
      throw new TroupeError<DelegationErrorCode>(code, message, { retryable });
    }
    if (first.done) {
      throw new TroupeError<DelegationErrorCode>(
        "stream_interrupted",
        `The agent "${agent}" ended the call without taking the answer.`,
      );
    }
    this.#mapper.answered();
    return { events, first: first.value };
  }

  async *#follow(): AsyncGenerator<RemoteSignal, void, undefined> {
    const source = yield* this.#resumed ? this.#regain() : this.#start();
    let current: Source | undefined = source;
    while (current !== undefined) {
      const end: SourceEnd = yield* this.#read(current);
      if (end.type === "over" || this.#call.signal.aborted) return;
      if (end.type === "lost") {
        if (this.#mapper.reference === undefined) {
          yield { type: "disconnected", message: end.message };
          return;
        }
        yield* this.#announce(end.message);
      }
      current = yield* this.#regain();
    }
  }

  /** The first source; a send that was certainly not received is tried again, with the same message. */
  async *#start(): AsyncGenerator<RemoteSignal, Source | undefined> {
    const { clock, streaming, random, describe } = this.#setup;
    for (let attempt = 1; ; attempt++) {
      const events = this.#send(sendRequest(this.#task as RemoteTask, !streaming));
      try {
        const first = await events.next();
        if (!first.done) return { events, first: first.value };
        yield { type: "disconnected", message: this.#closedMessage() };
        return undefined;
      } catch (error) {
        if (this.#call.signal.aborted) return undefined;
        const wait = resendAfter(error, attempt, random());
        if (wait !== undefined) {
          await sleep(clock, wait, this.#call.signal);
          if (this.#call.signal.aborted) return undefined;
          continue;
        }
        const failure = describe(error);
        if (failure.code === "stream_interrupted") yield { type: "disconnected", message: failure.message };
        else yield failedBy(failure);
        return undefined;
      }
    }
  }

  #send(request: SendMessageRequest): AsyncGenerator<Delivery, void, undefined> {
    return send(this.#setup.channel, this.#setup.streaming, request, this.#options());
  }

  /** Reads a source until the task is over, the source ends, or a question is answered elsewhere. */
  async *#read(source: Source): AsyncGenerator<RemoteSignal, SourceEnd> {
    let { events } = source;
    let delivery: Delivery | undefined = source.first;
    let fresh = source.resumed ?? false;
    let drain: Timer | undefined;
    let news = 0;
    try {
      for (;;) {
        if (delivery === undefined) {
          const next = await this.#desk.next(events);
          if (next === undefined) {
            const taken = this.#desk.take();
            if (taken === undefined) continue;
            this.#held.push(events);
            ({ events } = taken);
            delivery = taken.first;
            fresh = false;
          } else if (next.done) break;
          else delivery = next.value;
        }
        if (delivery !== undefined && !this.#mapper.over) {
          const { response } = delivery;
          if (fresh) yield* this.#fillGap(response);
          // Whatever was missed is in the task; after this signal nobody looks any more.
          else if (this.#losses > 0 && endsTask(response)) yield* this.#truth();
          fresh = false;
          for (const out of this.#map(() => this.#mapper.map(response, delivery))) {
            if (this.#mapper.over && drain === undefined)
              drain = this.#setup.clock.timer(DRAIN_MS, () => this.#call.abort());
            news++;
            yield out;
          }
        }
        delivery = undefined;
      }
      if (this.#mapper.over) return { type: "over" };
      return this.#closed(source, news);
    } catch (error) {
      if (this.#mapper.over || this.#call.signal.aborted) return { type: "over" };
      const failure = this.#setup.describe(error);
      if (failure.code === "artifact_too_large") {
        yield failedBy(failure);
        return { type: "over" };
      }
      if (this.#mapper.waitsForInput || this.#desk.hasAnswer) return { type: "open" };
      if (source.resumed && news === 0 && isRefusal(error)) return this.#closed(source, news);
      return { type: "lost", message: failure.message };
    } finally {
      drain?.cancel();
    }
  }

  /** What the end of a source means that brought no final state. */
  #closed(source: Source, news: number): SourceEnd {
    if (source.resumed && news === 0) {
      // It told nothing: look again, without a word.
      if (++this.#idleSubscriptions >= IDLE_SUBSCRIPTIONS) this.#canSubscribe = false;
      return { type: "open" };
    }
    this.#idleSubscriptions = 0;
    const expected =
      this.#desk.hasAnswer ||
      !this.#setup.streaming ||
      this.#mapper.waitsForInput ||
      this.#mapper.waitsForSignIn;
    return expected ? { type: "open" } : { type: "lost", message: this.#closedMessage() };
  }

  *#announce(message: string): Generator<RemoteSignal, void> {
    this.#losses++;
    this.#quietSince ??= this.#setup.clock.now();
    if (this.#announced) return;
    this.#announced = true;
    yield { type: "status", status: "reconnecting", message };
  }

  /**
   * Finds back to a task that nobody listens to.
   * @returns the source that goes on; `undefined` when the task is over or lost, which was told.
   */
  async *#regain(): AsyncGenerator<RemoteSignal, Source | undefined> {
    const { clock, agent, quietMs, recoveryMs } = this.#setup;
    let pause = FIRST_PAUSE_MS;
    let unreachableSince: number | undefined;
    for (let looks = 0; !this.#call.signal.aborted; looks++) {
      const taken = this.#desk.take();
      if (taken !== undefined) return taken;
      // A polled agent has just said how it stands.
      if (looks > 0 || this.#losses > 0 || this.#canSubscribe || this.#mapper.waitsForInput) {
        let seen: Delivery | undefined;
        try {
          seen = await this.#look();
        } catch (error) {
          if (this.#call.signal.aborted) return undefined;
          if (isTaskNotFound(error)) {
            yield {
              type: "failed",
              code: "remote_failed",
              message: `The agent "${agent}" no longer knows the task.`,
              remoteStatus: "not-found",
            };
            return undefined;
          }
          const { message } = this.#setup.describe(error);
          yield* this.#announce(message);
          unreachableSince ??= clock.now();
          if (clock.now() - unreachableSince >= recoveryMs) {
            yield { type: "disconnected", message };
            return undefined;
          }
        }
        // An answer that was taken meanwhile knows better than this look.
        if (seen !== undefined && !this.#desk.hasAnswer) {
          unreachableSince = undefined;
          const signals = this.#map(() => this.#snapshot(seen));
          if (signals.length > 0) pause = FIRST_PAUSE_MS;
          yield* signals;
          if (this.#mapper.over) return undefined;
          if (this.#mapper.waitsForInput || this.#mapper.waitsForSignIn) {
            this.#quietSince = undefined;
          } else {
            const since = this.#quietSince;
            if (since !== undefined && clock.now() - since >= quietMs) {
              yield {
                type: "failed",
                code: "remote_timeout",
                retryable: true,
                message: `The agent "${agent}" still says that it is ${this.#mapper.status}, but nothing has changed for ${Math.round(quietMs / 1_000)} s since its stream was lost.`,
                remoteStatus: this.#mapper.status,
              };
              return undefined;
            }
            if (this.#canSubscribe) {
              const source = await this.#subscribe();
              if (source !== undefined) return source;
              if (this.#call.signal.aborted) return undefined;
            }
          }
        }
      }
      const wait = this.#mapper.waitsForInput ? Math.max(pause, ASKED_PAUSE_MS) : pause;
      await this.#desk.pause(clock, this.#jittered(wait), this.#call.signal);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
    return undefined;
  }

  #snapshot(seen: Delivery): RemoteSignal[] {
    const { payload } = seen.response;
    return payload?.$case === "task" ? this.#mapper.snapshot(payload.value, seen) : [];
  }

  /** A subscription that has begun; `undefined` when there is none. */
  async #subscribe(): Promise<Source | undefined> {
    const taskId = this.#mapper.reference?.taskId;
    if (taskId === undefined) return undefined;
    const events = this.#setup.channel.subscribe(taskId, this.#options());
    try {
      const first = await events.next();
      if (!first.done) return { events, first: first.value, resumed: true };
      if (++this.#idleSubscriptions >= IDLE_SUBSCRIPTIONS) this.#canSubscribe = false;
    } catch (error) {
      // Servers disagree about the code; the next look says whether the task had only ended meanwhile.
      if (isRefusal(error) && ++this.#idleSubscriptions >= IDLE_SUBSCRIPTIONS) this.#canSubscribe = false;
    }
    return undefined;
  }

  /** Some subscriptions begin without the task, so what came before their first event is looked up. */
  async *#fillGap(response: StreamResponse): AsyncGenerator<RemoteSignal, void> {
    const { payload } = response;
    if (payload?.$case === "task") return;
    const seen = await this.#look().catch(() => undefined);
    const task = seen?.response.payload;
    if (task?.$case !== "task") return;
    yield* this.#map(() => this.#mapper.gap(task.value, response));
  }

  /** One look at the task after its end, for what a loss left out. */
  async *#truth(): AsyncGenerator<RemoteSignal, void> {
    const seen = await this.#look().catch(() => undefined);
    const task = seen?.response.payload;
    if (task?.$case === "task") yield* this.#map(() => this.#mapper.artifactsOf(task.value));
  }

  /** @throws what the channel throws, and WireError `silent`. */
  async #look(): Promise<Delivery> {
    const { channel, clock } = this.#setup;
    const taskId = this.#mapper.reference?.taskId ?? "";
    return withOwnSignal(this.#call.signal, async (signal) => {
      const looking = channel.get(taskId, { ...this.#options(), signal });
      const seen = await withinTime(clock, LOOK_TIMEOUT_MS, looking);
      if (seen === undefined) throw new WireError("silent", `No answer within ${LOOK_TIMEOUT_MS} ms.`);
      return seen;
    });
  }

  /** Maps, and keeps the books about what is news. */
  #map(map: () => RemoteSignal[]): RemoteSignal[] {
    const before = this.#mapper.reference?.taskId;
    const signals = map();
    const taskId = this.#mapper.reference?.taskId;
    if (taskId !== undefined && taskId !== before) this.#setup.named(taskId);
    if (signals.length > 0 && this.#losses > 0) {
      this.#announced = false;
      this.#quietSince = this.#setup.clock.now();
    }
    this.#desk.set(this.#mapper.waitsForInput);
    return signals;
  }

  #jittered(milliseconds: number): number {
    return Math.round(milliseconds * (0.75 + this.#setup.random() / 2));
  }

  #options(): CallOptions {
    const { delegationId, run, traceparent } = this.#task;
    return { signal: this.#call.signal, delegationId, ...defined({ run, traceparent }) };
  }

  #closedMessage(): string {
    return `The agent "${this.#setup.agent}" closed its stream without a final state.`;
  }
}

function failedBy({ code, message, retryable }: Failure): RemoteSignal {
  return { type: "failed", code, message, retryable };
}

function endsTask({ payload }: StreamResponse): boolean {
  return payload?.$case === "statusUpdate" && isFinal(payload.value.status?.state);
}
