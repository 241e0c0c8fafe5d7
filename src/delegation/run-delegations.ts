import { withinTime } from "../core/clock.js";
import { defined } from "../core/defined.js";
import { TroupeError } from "../core/errors.js";
import type { RunEvent } from "../core/run-event.js";
import { ActiveDelegation, endAll } from "./active-delegation.js";
import { ArtifactCollector } from "./artifacts.js";
import { Correlator, type IncomingCall } from "./correlation.js";
import { type DelegatingRun, runKey } from "./delegating-run.js";
import { type DelegationState, newDelegation } from "./delegation-state.js";
import type { Delegator } from "./delegator.js";
import type { RemoteEntry } from "./directory.js";
import type { DelegationErrorCode } from "./events.js";
import { inputArtifacts } from "./input-artifacts.js";
import { lineageProblem } from "./lineage.js";
import { auditOf, outgoingTask } from "./outgoing-task.js";
import { clampTimeout } from "./policy.js";
import type { RemoteInput, RemoteQuestion } from "./remote.js";
import type { DelegationRequest } from "./request.js";
import type { DelegationResult } from "./result.js";
import { type StartingDelegation, traceparentOf } from "./trace-context.js";

/** How long a remote that is not known yet may take to describe itself, in milliseconds; adapters have shorter bounds. */
const DESCRIBE_LIMIT_MS = 30_000;

/** How long a caller waits for a delegation, which goes on in any case. */
export interface Wait {
  /** Aborts when the caller takes the call back, which cancels the delegation. */
  readonly cancelled?: AbortSignal;
  /** Milliseconds after which the caller gets what stands by then; without end when absent. */
  readonly budgetMs?: number;
  /** The caller can ask a person: it gets a question when there is one, whatever the policy. */
  readonly asks?: {
    /** One that it has asked in vain; it waits on for whoever answers that. */
    readonly besides?: RemoteQuestion;
  };
}

/** What an agent says it is, or why it cannot be asked. */
interface Described {
  readonly name: string;
  readonly fingerprint?: string;
  readonly problem?: TroupeError;
}

/** The delegations of one run. */
export class RunDelegations {
  /** Ids of delegations by the tool calls that started them, or begin to. */
  readonly #byCall = new Map<string, Promise<string>>();
  readonly #started = new Map<string, string>();
  readonly #active = new Set<ActiveDelegation>();
  readonly #correlator: Correlator;
  readonly #closing = new AbortController();
  /** Who waits for a delegation: when the run is over, they wait in vain for what goes on without it. */
  readonly #waiting = new Set<() => void>();
  #over = false;

  constructor(
    private readonly delegator: Delegator,
    private readonly run: DelegatingRun,
  ) {
    const { clock, correlationGraceMs = 250 } = delegator.options;
    this.#correlator = new Correlator(clock, correlationGraceMs);
  }

  /** Sees the run's own events, to find the tool calls that delegations belong to. */
  observe(event: RunEvent): void {
    this.#correlator.observe(event);
  }

  /**
   * Starts a delegation, or joins the one that the same tool call started before.
   * @returns what the parent's model gets: the end, or by `wait` and policy how it stands before. The delegation goes on even if
   * nobody waits for it.
   * @throws TroupeError `agent_not_found`, `agent_busy`, `invalid_input` or `cancelled`, when there is nothing to be shown.
   */
  async delegate(request: DelegationRequest, call: IncomingCall, wait: Wait = {}): Promise<DelegationResult> {
    const known = call.callId === undefined ? undefined : this.#byCall.get(call.callId);
    const starting = known ?? this.#start(request, call);
    if (call.callId !== undefined) this.#byCall.set(call.callId, starting);
    const delegationId = await starting.catch((error: unknown) => {
      // Nothing was started, so the same call may try again.
      if (call.callId !== undefined) this.#byCall.delete(call.callId);
      throw error;
    });
    return this.result(delegationId, wait);
  }

  /**
   * How a delegation of this run stands, or its result.
   * @throws TroupeError `result_expired` when this run has none of that id.
   */
  async result(delegationId: string, wait: Wait = { budgetMs: 0 }): Promise<DelegationResult> {
    const own = this.#own(delegationId);
    return own instanceof ActiveDelegation ? this.#await(own, wait) : own;
  }

  /**
   * Stops a delegation of this run; resolves with its result.
   * @throws TroupeError `result_expired`.
   */
  async cancel(delegationId: string, reason: string): Promise<DelegationResult> {
    const own = this.#own(delegationId);
    if (!(own instanceof ActiveDelegation)) return own;
    own.apply({ type: "stop", cause: "cancel", reason });
    return own.answer;
  }

  /**
   * Answers what a delegation of this run asks, and waits for what follows.
   * @throws TroupeError `result_expired`, `nothing_asked`, `capability_unsupported`, or why the remote did not take it.
   */
  async reply(delegationId: string, input: RemoteInput, wait: Wait = {}): Promise<DelegationResult> {
    return this.#await(await this.#answer(delegationId, input, "parent"), wait);
  }

  /**
   * A person answers what a delegation of this run asks.
   * @throws TroupeError `result_expired`, `nothing_asked`, `capability_unsupported`, or why the remote did not take it.
   */
  async answer(delegationId: string, input: RemoteInput): Promise<void> {
    await this.#answer(delegationId, input, "person");
  }

  /** A person does not want to answer: the delegation ends. Nothing happens when it asks nothing. */
  decline(delegationId: string): void {
    const delegation = this.#isOwn(delegationId) ? this.delegator.active(delegationId) : undefined;
    const { question } = delegation?.state ?? {};
    if (delegation === undefined || question === undefined) return;
    delegation.apply({ type: "answered", by: "person" });
    const reason = `The person declined to answer: ${question.prompt}`;
    delegation.apply({ type: "stop", cause: "input_required", reason });
  }

  /** Resolves when `question` of a delegation waits for no answer any more. */
  async unasked(delegationId: string, question: RemoteQuestion): Promise<void> {
    if (this.#isOwn(delegationId)) await this.delegator.active(delegationId)?.unasked(question);
  }

  /** A delegation of this run, running or ended, as long as it is kept. */
  state(delegationId: string): DelegationState | undefined {
    return this.#isOwn(delegationId) ? this.delegator.get(delegationId)?.state : undefined;
  }

  /**
   * How a delegation of this run stands at this moment.
   * @throws TroupeError `result_expired`.
   */
  snapshot(delegationId: string): DelegationResult {
    const own = this.#own(delegationId);
    return own instanceof ActiveDelegation ? own.snapshot() : own;
  }

  /** The id of the delegation that a tool call started. */
  async startedBy(callId: string): Promise<string | undefined> {
    return this.#byCall.get(callId)?.catch(() => undefined);
  }

  /** The delegation that a tool call started, if it has got that far. */
  ofCall(callId: string): DelegationState | undefined {
    const delegationId = this.#started.get(callId);
    return delegationId === undefined ? undefined : this.delegator.get(delegationId)?.state;
  }

  /** The run is cancelled: stops all delegations that are not over, and starts no more. */
  cancelAll(reason: string): void {
    this.#closing.abort();
    for (const delegation of this.#active) delegation.apply({ type: "stop", cause: "cancel", reason });
  }

  /**
   * Ends the run's delegations: each has its terminal event when this resolves, bounded by the policies' cancel timeouts.
   * @param cancelled the run did not end by itself, so that no delegation goes on without it.
   */
  async close(reason: string, cancelled = true): Promise<void> {
    this.#closing.abort();
    const goOn = cancelled ? [] : [...this.#active].filter((delegation) => delegation.outlivesRun);
    for (const delegation of goOn) {
      this.#active.delete(delegation);
      this.delegator.detach(this.run, delegation);
    }
    await endAll([...this.#active], reason);
    for (const leave of this.#waiting) leave();
    this.#over = true;
    this.#correlator.close();
  }

  async #answer(
    delegationId: string,
    input: RemoteInput,
    by: "person" | "parent",
  ): Promise<ActiveDelegation> {
    const own = this.#own(delegationId);
    if (!(own instanceof ActiveDelegation)) {
      throw new TroupeError<DelegationErrorCode>("nothing_asked", "The delegation is over.");
    }
    await own.reply(input, by);
    return own;
  }

  async #await(delegation: ActiveDelegation, { cancelled, budgetMs, asks }: Wait): Promise<DelegationResult> {
    const onCancel = () =>
      delegation.apply({ type: "stop", cause: "cancel", reason: "the parent agent took the call back" });
    if (cancelled?.aborted) onCancel();
    else cancelled?.addEventListener("abort", onCancel, { once: true });
    let leave: () => void = () => undefined;
    try {
      const returnsQuestions = delegation.state.inputRequired === "return" || asks !== undefined;
      const asked = returnsQuestions
        ? [delegation.asked(asks?.besides).then(() => delegation.snapshot())]
        : [];
      const left = new Promise<DelegationResult>((resolve) => {
        leave = () => resolve(delegation.snapshot());
        if (this.#over) leave();
        else this.#waiting.add(leave);
      });
      const first = Promise.race([delegation.answer, ...asked, left]);
      if (budgetMs === undefined) return await first;
      return (await withinTime(this.delegator.options.clock, budgetMs, first)) ?? delegation.snapshot();
    } finally {
      this.#waiting.delete(leave);
      cancelled?.removeEventListener("abort", onCancel);
    }
  }

  /** A delegation of this run while it goes on, its result afterwards. */
  #own(delegationId: string): ActiveDelegation | DelegationResult {
    const known = this.#isOwn(delegationId) ? this.delegator.get(delegationId) : undefined;
    const own = known && (this.delegator.active(delegationId) ?? known.state.answer);
    if (own !== undefined) return own;
    throw new TroupeError<DelegationErrorCode>(
      "result_expired",
      `This run has no delegation ${delegationId}, or no longer.`,
    );
  }

  /** @returns the new delegation's id. */
  async #start(request: DelegationRequest, call: IncomingCall): Promise<string> {
    const { registry, clock, createId, artifacts, links, record } = this.delegator.options;
    if (this.#closing.signal.aborted)
      throw new TroupeError<DelegationErrorCode>("cancelled", "The run is over.");
    const directory = registry.forTenant(this.run.tenant);
    const entry = directory.get(request.agent);
    if (entry === undefined) {
      const listed = directory.keys().join(", ") || "none";
      throw new TroupeError<DelegationErrorCode>(
        "agent_not_found",
        `There is no agent "${request.agent}". Agents: ${listed}.`,
      );
    }
    const release = await this.#permit(entry, request.agent);
    const delegationId = createId("del");
    try {
      const isOwn = (id: string) => this.#isOwn(id);
      const source = {
        artifacts,
        isOwn,
        ...(entry.policy.inputArtifacts === "inline" ? {} : defined({ links })),
      };
      const inputs = await inputArtifacts(request, source, delegationId);
      const { name, fingerprint, problem } = await this.#describe(request.agent, entry);
      let late: ActiveDelegation | undefined;
      const correlation = await this.#correlator.correlate(call, ({ toolCallId, level }) => {
        if (toolCallId !== undefined) late?.apply({ type: "correlated", toolCallId, correlation: level });
      });
      if (this.#closing.signal.aborted)
        throw new TroupeError<DelegationErrorCode>("cancelled", "The run is over.");
      const messageId = createId("msg");
      const contextId = this.delegator.contexts.find(entry.policy.context, this.run, request.agent);
      const identity = {
        delegationId,
        agentKey: request.agent,
        agentName: name.slice(0, 128),
        protocol: entry.remote.protocol,
        ...defined({ parentToolCallId: correlation.toolCallId }),
      };
      const traceparent = this.#traceparent(identity, call);
      const parts = { request, delegationId, messageId, inputs, card: fingerprint, contextId, traceparent };
      const task = outgoingTask(this.run, parts);
      const delegation = new ActiveDelegation(
        {
          remote: entry.remote,
          policy: entry.policy,
          timeoutMs: clampTimeout(entry.policy, request.constraints?.timeout_seconds),
          clock,
          collector: new ArtifactCollector(delegationId, artifactPolicy(entry, request), artifacts),
          record: (event) => record(this.run, event),
          onError: this.delegator.options.onError ?? (() => undefined),
          released: () => {
            release();
            links?.revoke(delegationId);
            this.#rememberContext(entry, delegation.state);
            this.#active.delete(delegation);
            this.#correlator.forget(call);
            this.delegator.ended(delegationId);
          },
        },
        newDelegation(
          { runId: this.run.runId, ...identity },
          {
            objective: request.objective,
            correlation: correlation.level,
            maxResultBytes: entry.policy.maxResultBytes,
            responseMode: entry.policy.responseMode,
            inputRequired: entry.policy.inputRequired,
            audit: auditOf(this.run, call, parts, task, entry.policy),
            ...defined({ cardFingerprint: fingerprint, cardChangedFrom: registry.takeChange(request.agent) }),
          },
        ),
      );
      late = delegation;
      this.delegator.keep(this.run, delegation);
      if (call.callId !== undefined) this.#started.set(call.callId, delegationId);
      this.#active.add(delegation);
      if (problem !== undefined) {
        delegation.refuse(problem);
        return delegationId;
      }
      delegation.start(task);
      return delegationId;
    } catch (error) {
      release();
      links?.revoke(delegationId);
      this.#correlator.forget(call);
      throw error;
    }
  }

  /** What the remote continues: whoever traces the host decides, else it is the caller's trace, or the run's. */
  #traceparent(
    identity: Omit<StartingDelegation, "tool" | "traceparent">,
    { tool, traceparent: of }: IncomingCall,
  ): string {
    const told = this.delegator.options.starting?.(this.run, {
      ...identity,
      tool,
      ...defined({ traceparent: of }),
    });
    return told ?? traceparentOf(of ?? this.run.traceparent, runKey(this.run), identity.delegationId);
  }

  /** A permit of the run and one of the host, at once or after a while by policy. */
  async #permit({ policy }: RemoteEntry, agent: string): Promise<() => void> {
    const { permits } = this.delegator;
    const { clock } = this.delegator.options;
    const until = clock.now() + policy.queueMs;
    for (;;) {
      const ofRun = permits.acquire(runKey(this.run), policy.maxConcurrentPerRun);
      const ofHost = ofRun && permits.acquire("host", policy.maxConcurrentPerHost);
      if (ofRun !== undefined && ofHost !== undefined) {
        return () => {
          ofRun();
          ofHost();
        };
      }
      const left = until - clock.now();
      if (left <= 0 || this.#closing.signal.aborted) {
        ofRun?.();
        const where = ofRun === undefined ? "in this run" : "on this host";
        throw new TroupeError<DelegationErrorCode>(
          "agent_busy",
          `Too many delegations at once ${where}. Wait for one to end, then call "${agent}" again.`,
          { retryable: true },
        );
      }
      // Before the wait begins, so that it does not wake itself.
      ofRun?.();
      const stopWaiting = new AbortController();
      await withinTime(
        clock,
        left,
        permits.freed(AbortSignal.any([stopWaiting.signal, this.#closing.signal])),
      );
      stopWaiting.abort();
    }
  }

  /** What the agent is, or why it cannot be asked: a person is shown that as a delegation that failed. */
  async #describe(agent: string, { policy }: RemoteEntry): Promise<Described> {
    const { registry, clock } = this.delegator.options;
    const refused = (card?: string) => {
      const why = lineageProblem(this.run, policy.maxDepth, card);
      if (why === undefined) return;
      throw new TroupeError<DelegationErrorCode>("policy_denied", `${why} Do the task without this agent.`);
    };
    try {
      refused();
      // The remote's own cache decides whether anything is fetched, so a card that changed or a remote that died shows here.
      const describing = registry.describe(agent, this.#closing.signal);
      const description = await withinTime(clock, DESCRIBE_LIMIT_MS, describing);
      if (description !== undefined) {
        refused(description.fingerprint);
        return description;
      }
      throw new TroupeError<DelegationErrorCode>(
        "agent_unavailable",
        `"${agent}" did not say what it is within ${DESCRIBE_LIMIT_MS / 1_000} s.`,
        { retryable: true },
      );
    } catch (error) {
      if (!(error instanceof TroupeError) || this.#closing.signal.aborted) throw error;
      return { name: registry.state(agent)?.description?.name ?? agent, problem: error };
    }
  }

  /** A conversation goes on after a good end; after any other the next delegation begins afresh. */
  #rememberContext({ policy }: RemoteEntry, { identity, answer }: DelegationState): void {
    const { agentKey, remoteContextId } = identity;
    if (answer?.status === "completed" && remoteContextId !== undefined) {
      this.delegator.contexts.remember(policy.context, this.run, agentKey, remoteContextId);
    } else this.delegator.contexts.forget(policy.context, this.run, agentKey);
  }

  #isOwn(delegationId: string): boolean {
    const run = this.delegator.get(delegationId)?.run;
    return run !== undefined && runKey(run) === runKey(this.run);
  }
}

function artifactPolicy({ policy }: RemoteEntry, { constraints }: DelegationRequest): RemoteEntry["policy"] {
  return {
    ...policy,
    maxArtifacts: Math.min(policy.maxArtifacts, constraints?.max_artifacts ?? policy.maxArtifacts),
  };
}
