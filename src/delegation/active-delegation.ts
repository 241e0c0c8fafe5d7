import { type Clock, sleep, type Timer, withinTime } from "../core/clock.js";
import { defined } from "../core/defined.js";
import { TroupeError } from "../core/errors.js";
import type { ArtifactCollector, Collected } from "./artifacts.js";
import { reduce } from "./delegation.js";
import type { DelegationEffect, DelegationInput, DelegationState } from "./delegation-state.js";
import type { DelegationErrorCode, SubagentEvent } from "./events.js";
import type { DelegationPolicy } from "./policy.js";
import type { RecordedContent } from "./recorded-content.js";
import type {
  RemoteAgent,
  RemoteCaller,
  RemoteCancelAnswer,
  RemoteInput,
  RemoteQuestion,
  RemoteSignal,
  RemoteTask,
  RemoteTaskReference,
} from "./remote.js";
import { buildResult, type DelegationResult } from "./result.js";
import { SilenceWatch } from "./silence-watch.js";

/** What an active delegation works with. */
export interface ActiveDelegationSetup {
  readonly remote: RemoteAgent;
  readonly policy: DelegationPolicy;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly collector: ArtifactCollector;
  /** Appends to the journal. Resolves when the entry is safe. */
  readonly record: (event: SubagentEvent) => Promise<unknown>;
  /** Gets what nobody expected; it goes to the host's log, and no further. */
  readonly onError: (error: unknown) => void;
  /** Called once, when nothing of the delegation is left. */
  readonly released: () => void;
}

/** A delegation that is shown without waiting any longer for the remote to accept it. */
const SHOW_AFTER_MS = 250;
/** How long a cancelled delegation waits for the remote's task id: without it nothing can be cancelled. */
const ID_WAIT_MS = 2_000;
/** How long the stream of a remote that has ended may stay open. */
const DRAIN_MS = 1_000;
const WATCH_FIRST_MS = 500;
const WATCH_LONGEST_MS = 5_000;

/**
 * Drives one delegation: feeds the reducer with what the remote, timers and people do, and carries out what it asks for. It
 * belongs to the host, not to the call that asked for it.
 */
export class ActiveDelegation {
  /** Resolves with what the parent's model gets; after the result is kept and its events are in the journal. */
  readonly answer: Promise<DelegationResult>;
  /** Resolves when the terminal event is in the journal. */
  readonly over: Promise<void>;
  /** Resolves when nothing goes on any more, the watch over an unconfirmed cancel included. */
  readonly gone: Promise<void>;
  #state: DelegationState;
  #answer: (result: DelegationResult) => void = () => undefined;
  #over: () => void = () => undefined;
  readonly #stream = new AbortController();
  /** Made when a watch begins: most delegations never need one. */
  #watch: AbortController | undefined;
  #abandoned = false;
  #watching: Promise<void> = Promise.resolve();
  /** The run is over, but whether the remote stopped is still being watched. */
  #watchOn = false;
  readonly #timers: Timer[] = [];
  #accepted: () => void = () => undefined;
  readonly #whenAccepted: Promise<void>;
  #recorded: Promise<unknown> = Promise.resolve();
  #askers: (() => void)[] = [];
  #gone: (() => void)[] = [];
  #questionTimer: Timer | undefined;
  #replying = false;
  #caller: RemoteCaller | undefined;
  /** What is on record of a task that another process started. */
  #content: RecordedContent | undefined;
  #surrendered = false;
  #followed = false;
  readonly #silence: SilenceWatch;
  #drain: Timer | undefined;

  constructor(
    private readonly setup: ActiveDelegationSetup,
    state: DelegationState,
  ) {
    this.#state = state;
    this.answer = new Promise((resolve) => {
      this.#answer = resolve;
    });
    this.over = new Promise((resolve) => {
      this.#over = resolve;
    });
    this.gone = this.over.then(() => this.#watching);
    this.#whenAccepted = new Promise((resolve) => {
      this.#accepted = resolve;
    });
    const { clock, policy } = setup;
    const reason = `The remote agent sent nothing for ${Math.round(policy.idleTimeoutMs / 1_000)} s.`;
    this.#silence = new SilenceWatch({
      clock,
      limitMs: policy.idleTimeoutMs,
      expected: () => this.#state.question === undefined && this.#state.stop === undefined,
      silent: () => this.apply({ type: "stop", cause: "deadline", reason }),
    });
  }

  get state(): DelegationState {
    return this.#state;
  }

  /** Whether it goes on when its run ends by itself. */
  get outlivesRun(): boolean {
    return this.setup.policy.onRunEnd === "detach" && this.#state.stop === undefined;
  }

  get remote(): RemoteAgent {
    return this.setup.remote;
  }

  /** Whether another process could go on with it. */
  get canBeFound(): boolean {
    return this.#reference() !== undefined && this.setup.remote.reattach !== undefined && this.outlivesRun;
  }

  /** What stands at this moment, for a caller that does not wait for the end. */
  snapshot(): DelegationResult {
    const { identity, texts, growing, artifacts, maxResultBytes, responseMode, question, answer } =
      this.#state;
    if (answer !== undefined) return answer;
    const said = growing === "" ? texts : [...texts, growing];
    const status = question === undefined ? ("working" as const) : ("needs_input" as const);
    const parts = {
      ...identity,
      status,
      texts: said,
      artifacts,
      responseMode,
      ...defined({ question }),
    };
    return buildResult(parts, maxResultBytes);
  }

  /**
   * Resolves as soon as the remote asks something, at once if it waits already; never when it does not.
   * @param besides a question that does not count.
   */
  asked(besides?: RemoteQuestion): Promise<void> {
    const { question } = this.#state;
    if (question !== undefined && question !== besides) return Promise.resolve();
    return new Promise((resolve) => {
      this.#askers.push(resolve);
    });
  }

  /** Resolves when `question` waits for no answer any more, whoever gave it. */
  unasked(question: RemoteQuestion): Promise<void> {
    if (this.#state.question !== question) return Promise.resolve();
    return new Promise((resolve) => {
      this.#gone.push(resolve);
    });
  }

  /**
   * Answers what the remote asks.
   * @throws TroupeError `nothing_asked`, `capability_unsupported`, or why the remote did not take the answer.
   */
  async reply(input: RemoteInput, by: "person" | "parent"): Promise<void> {
    const reference = this.#reference();
    if (this.#state.question === undefined || this.#replying || reference === undefined) {
      throw new TroupeError<DelegationErrorCode>("nothing_asked", "The remote agent waits for no answer.");
    }
    const { remote, clock, policy } = this.setup;
    if (remote.answer === undefined) {
      throw new TroupeError<DelegationErrorCode>("capability_unsupported", "This agent cannot be answered.");
    }
    this.#replying = true;
    const abort = new AbortController();
    const timer = clock.timer(policy.cancelTimeoutMs * 2, () => abort.abort());
    try {
      await remote.answer(reference, input, abort.signal);
      this.apply({ type: "answered", by });
    } finally {
      timer.cancel();
      this.#replying = false;
    }
  }

  /** Starts the remote's task. Call once. */
  start(task: RemoteTask): void {
    this.#caller = task.run;
    this.#begin(() => this.setup.remote.start(task, this.#stream.signal));
  }

  /**
   * Goes on with a task that another process started. Instead of {@link start}.
   * @param content what is on record of it.
   */
  resume(task: Pick<RemoteTask, "delegationId" | "messageId" | "run">, content: RecordedContent): void {
    this.#caller = task.run;
    this.#content = content;
    if (this.#state.question !== undefined) this.#carryOut("ask");
    const { remote } = this.setup;
    const reference = this.#reference();
    this.#begin(() =>
      reference === undefined ? [] : (remote.reattach?.(reference, task, this.#stream.signal) ?? []),
    );
  }

  /** Another process has taken it over: here it ends, and the remote goes on. */
  surrender(): void {
    this.#surrendered = true;
    this.abandon();
    this.apply({ type: "close", reason: "another host has taken it over" });
  }

  /** This process goes, and another one goes on with it: nothing is told to anybody. */
  leave(): void {
    this.abandon();
    this.#state = { ...this.#state, phase: "over" };
    this.#carryOut("end");
  }

  #begin(follow: () => AsyncIterable<RemoteSignal> | Iterable<RemoteSignal>): void {
    const { clock, timeoutMs } = this.setup;
    this.#timers.push(
      clock.timer(SHOW_AFTER_MS, () => this.apply({ type: "show" })),
      clock.timer(timeoutMs, () =>
        this.apply({
          type: "stop",
          cause: "deadline",
          reason: `The remote agent did not finish within ${Math.round(timeoutMs / 1_000)} s.`,
        }),
      ),
    );
    this.#silence.start();
    void this.#follow(follow);
  }

  /** The remote cannot even be asked: the delegation is shown, and ends with why. Instead of {@link start}. */
  refuse(error: TroupeError): void {
    this.#followed = true;
    this.apply(failure(error));
  }

  /** Lets the reducer take one input, records what follows, and carries out its effects. */
  apply(input: DelegationInput): void {
    if (input.type === "close" && this.#state.phase !== "over") this.#watchOn = true;
    const { question } = this.#state;
    const { state, events, effects } = reduce(this.#state, input);
    this.#state = state;
    if (state.question !== question) for (const tell of this.#gone.splice(0)) tell();
    for (const event of events) this.#record(event);
    for (const effect of effects) this.#carryOut(effect);
    if (state.question === undefined) this.#questionTimer?.cancel();
    if (state.identity.remoteTaskId !== undefined || state.phase === "over") this.#accepted();
  }

  /** A journal that fails must not take the host down: the delegation ends for its caller all the same. */
  #record(event: SubagentEvent): void {
    const recording = (async () => this.setup.record(event))();
    recording.catch(() => undefined);
    this.#recorded = recording;
  }

  /** Stops watching; the host is closing. */
  abandon(): void {
    this.#abandoned = true;
    this.#watch?.abort();
    this.#stream.abort();
  }

  async #follow(start: () => AsyncIterable<RemoteSignal> | Iterable<RemoteSignal>): Promise<void> {
    try {
      for await (const said of start()) {
        this.#silence.heard();
        if (this.#state.phase === "over") break;
        const signal = this.#content === undefined ? said : this.#content.fresh(said);
        if (signal === undefined) continue;
        if (signal.type === "artifact") {
          this.#collected(await this.setup.collector.add(signal.chunk));
          continue;
        }
        if (signal.type === "completed" || signal.type === "failed" || signal.type === "disconnected")
          await this.#collectRest();
        this.apply(signal);
      }
      if (this.#state.phase === "working" || this.#state.phase === "new") {
        await this.#collectRest();
        this.apply({
          type: "disconnected",
          message: "The remote agent's stream ended without a final state.",
        });
      }
    } catch (error) {
      if (!(error instanceof TroupeError)) this.setup.onError(error);
      this.apply(failure(error));
    } finally {
      this.#followed = true;
      this.#drain?.cancel();
    }
  }

  async #collectRest(): Promise<void> {
    for (const collected of await this.setup.collector.finish()) this.#collected(collected);
  }

  #collected(collected: Collected): void {
    if (collected === undefined || this.#content?.has(collected.artifact)) return;
    this.apply({ type: "artifact_collected", ...collected });
  }

  #carryOut(effect: DelegationEffect): void {
    switch (effect) {
      case "ask":
        this.#questionTimer?.cancel();
        this.#questionTimer = this.setup.clock.timer(this.setup.policy.inputTimeoutMs, () =>
          this.apply({ type: "input_expired" }),
        );
        for (const tell of this.#askers.splice(0)) tell();
        return;
      case "cancel_remote":
        if (!this.#surrendered) void this.#cancelRemote();
        return;
      case "watch_cancel":
        this.#watching = this.#watchCancel();
        return;
      case "answer": {
        const { answer } = this.#state;
        if (answer !== undefined) void this.#recorded.catch(() => undefined).then(() => this.#answer(answer));
        return;
      }
      case "end":
        for (const timer of this.#timers) timer.cancel();
        this.#questionTimer?.cancel();
        this.#silence.cancel();
        if (!this.#watchOn) this.#watch?.abort("over");
        void this.#recorded
          .catch(() => undefined)
          .then(() => {
            this.#leaveStream();
            this.setup.collector.discard();
            this.#over();
            this.setup.released();
          });
    }
  }

  /** A remote that ended by itself closes its stream soon, and its connection can be used again; one that was stopped may never. */
  #leaveStream(): void {
    if (this.#followed) return;
    if (this.#state.stop !== undefined) this.#stream.abort();
    else this.#drain = this.setup.clock.timer(DRAIN_MS, () => this.#stream.abort());
  }

  /** One bounded attempt. The stream stays open meanwhile, because it may bring the task's id, or its end, first. */
  async #cancelRemote(): Promise<void> {
    const { clock } = this.setup;
    if (this.#reference() === undefined && this.#state.phase !== "over")
      await withinTime(clock, ID_WAIT_MS, this.#whenAccepted);
    const reference = this.#reference();
    if (reference === undefined) {
      // Nobody can tell whether the remote has begun: not confirmed, and nothing that could be watched.
      this.#stream.abort();
      this.apply({ type: "cancel_answered", answer: undefined });
      return;
    }
    this.apply({ type: "cancel_answered", answer: await this.#askToCancel(reference) });
  }

  async #askToCancel(reference: RemoteTaskReference): Promise<RemoteCancelAnswer | undefined> {
    const abort = new AbortController();
    const { delegationId } = this.#state.identity;
    const reason = this.#state.stop?.reason ?? "the host stopped waiting";
    // Also when it throws at once: a remote may be anybody's code, and a cancel must come to an end.
    const ask = async () => this.setup.remote.cancel(reference, { delegationId, reason }, abort.signal);
    const answer = await withinTime(
      this.setup.clock,
      this.setup.policy.cancelTimeoutMs,
      ask().catch(() => undefined),
    );
    abort.abort();
    return answer;
  }

  /** Looks at the remote's task until it is over or the watch's own bound ends. */
  async #watchCancel(): Promise<void> {
    const { clock, policy, remote } = this.setup;
    const reference = this.#reference();
    const until = clock.now() + policy.cancelWatchMs;
    let pause = WATCH_FIRST_MS;
    this.#watch = new AbortController();
    const { signal } = this.#watch;
    if (this.#abandoned) this.#watch.abort();
    while (reference !== undefined && !signal.aborted && clock.now() < until) {
      await sleep(clock, Math.min(pause, until - clock.now()), signal);
      if (signal.aborted) return;
      pause = Math.min(pause * 2, WATCH_LONGEST_MS);
      const seen = await withinTime(
        clock,
        policy.cancelTimeoutMs,
        (async () => remote.look(reference, signal))().catch(() => undefined),
      );
      if (seen?.over) return this.apply({ type: "watch_ended", remoteStatus: seen.remoteStatus });
      if (this.#state.phase === "over") await this.#askToCancel(reference);
    }
    this.apply({ type: "watch_ended" });
  }

  #reference(): RemoteTaskReference | undefined {
    const { remoteTaskId, remoteContextId } = this.#state.identity;
    if (remoteTaskId === undefined) return undefined;
    return { taskId: remoteTaskId, ...defined({ contextId: remoteContextId, run: this.#caller }) };
  }
}

/** Stops delegations; each has its terminal event when this resolves. Bounded by the policies' cancel timeouts. */
export async function endAll(delegations: readonly ActiveDelegation[], reason: string): Promise<void> {
  for (const delegation of delegations) delegation.apply({ type: "stop", cause: "cancel", reason });
  await Promise.all(delegations.map(({ answer }) => answer));
  for (const delegation of delegations) delegation.apply({ type: "close", reason });
  await Promise.all(delegations.map(({ over }) => over));
}

function failure(error: unknown): RemoteSignal {
  // What is unexpected may hold paths and more of the host's own; its log has it.
  if (!(error instanceof TroupeError)) {
    return {
      type: "failed",
      code: "internal",
      message: "The host failed. Its log says why.",
      remoteStatus: "unknown",
    };
  }
  return {
    type: "failed",
    code: error.code as DelegationErrorCode,
    message: error.message,
    retryable: error.retryable,
    remoteStatus: "unknown",
  };
}
