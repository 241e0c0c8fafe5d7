import { type Clock, withinTime } from "../core/clock.js";
import { TroupeError } from "../core/errors.js";
import type { CreateId } from "../core/ids.js";
import type { RunEvent } from "../core/run-event.js";
import { ActiveDelegation } from "./active-delegation.js";
import { ArtifactCollector, type ArtifactStore } from "./artifacts.js";
import { Correlator, type IncomingCall } from "./correlation.js";
import { type DelegationState, newDelegation } from "./delegation.js";
import type { DelegationErrorCode, SubagentEvent } from "./events.js";
import { Permits } from "./permits.js";
import { clampTimeout } from "./policy.js";
import type { RemoteEntry, RemoteRegistry } from "./registry.js";
import type { RemoteInputArtifact } from "./remote.js";
import { type DelegationRequest, requestText } from "./request.js";
import type { DelegationResult } from "./result.js";

/** How long a remote that is not known yet may take to describe itself, in milliseconds; adapters have shorter bounds. */
const DESCRIBE_LIMIT_MS = 30_000;

/** The run that delegations belong to. */
export interface DelegatingRun {
  readonly runId: string;
  readonly thread: string;
}

/** What a delegator works with. */
export interface DelegatorOptions {
  readonly registry: RemoteRegistry;
  readonly artifacts: ArtifactStore;
  /** Appends to the thread's journal, in the order of the calls. */
  readonly record: (run: DelegatingRun, event: SubagentEvent) => Promise<unknown>;
  readonly clock: Clock;
  readonly createId: CreateId;
  /** How long a call waits for the parent's tool call to be seen, in milliseconds. Default 250. */
  readonly correlationGraceMs?: number;
  /** Ended delegations whose state stays readable. Default 10,000. */
  readonly keepEnded?: number;
}

/** A delegation that the host knows. */
export interface KnownDelegation {
  readonly run: DelegatingRun;
  readonly state: DelegationState;
}

/** Starts delegations, and knows all of them by id. */
export class Delegator {
  /** What has ended is kept as its state alone: whatever worked on it can go. */
  readonly #delegations = new Map<
    string,
    { readonly run: DelegatingRun; readonly delegation: { readonly state: DelegationState } }
  >();
  readonly #active = new Map<string, ActiveDelegation>();
  readonly #byRun = new Map<string, string[]>();
  readonly #ended: string[] = [];
  readonly permits = new Permits();

  constructor(readonly options: DelegatorOptions) {}

  /** Opens a run for delegations. Close it when the run ends. */
  openRun(run: DelegatingRun): RunDelegations {
    return new RunDelegations(this, run);
  }

  /** A delegation, running or ended, as long as it is kept. */
  get(delegationId: string): KnownDelegation | undefined {
    const known = this.#delegations.get(delegationId);
    return known === undefined ? undefined : { run: known.run, state: known.delegation.state };
  }

  /** All delegations of a run, oldest first. */
  list(run: DelegatingRun): DelegationState[] {
    const ids = this.#byRun.get(runKey(run)) ?? [];
    return ids.flatMap((id) => this.get(id)?.state ?? []);
  }

  /** @returns whether there is such a delegation and it was not over. */
  cancel(delegationId: string, reason: string): boolean {
    const delegation = this.#active.get(delegationId);
    if (delegation === undefined || delegation.state.phase === "over") return false;
    delegation.apply({ type: "stop", cause: "cancel", reason });
    return true;
  }

  /** Ends what still watches remotes whose cancel was never confirmed. */
  close(): void {
    for (const delegation of this.#active.values()) delegation.abandon();
  }

  /** @internal */
  keep(run: DelegatingRun, delegation: ActiveDelegation): void {
    const { delegationId } = delegation.state.identity;
    this.#delegations.set(delegationId, { run, delegation });
    this.#active.set(delegationId, delegation);
    void delegation.gone.then(() => this.#active.delete(delegationId));
    const ids = this.#byRun.get(runKey(run));
    if (ids === undefined) this.#byRun.set(runKey(run), [delegationId]);
    else ids.push(delegationId);
  }

  /** @internal */
  ended(delegationId: string): void {
    const ended = this.#delegations.get(delegationId);
    if (ended !== undefined)
      this.#delegations.set(delegationId, { run: ended.run, delegation: { state: ended.delegation.state } });
    this.#ended.push(delegationId);
    const oldest = this.#ended.length > (this.options.keepEnded ?? 10_000) ? this.#ended.shift() : undefined;
    const known = oldest === undefined ? undefined : this.#delegations.get(oldest);
    if (oldest === undefined || known === undefined) return;
    this.#delegations.delete(oldest);
    const left = (this.#byRun.get(runKey(known.run)) ?? []).filter((id) => id !== oldest);
    if (left.length > 0) this.#byRun.set(runKey(known.run), left);
    else this.#byRun.delete(runKey(known.run));
  }
}

/** The delegations of one run. */
export class RunDelegations {
  readonly #byCall = new Map<string, Promise<ActiveDelegation>>();
  readonly #started = new Map<string, ActiveDelegation>();
  readonly #active = new Set<ActiveDelegation>();
  readonly #correlator: Correlator;
  readonly #closing = new AbortController();

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
   * @param cancelled aborts when the caller takes the call back, which cancels the delegation.
   * @returns what the parent's model gets. The delegation goes on even if nobody waits for it.
   * @throws TroupeError `agent_not_found`, `agent_busy`, `invalid_input`, `agent_unavailable`, `capability_unsupported`,
   * `policy_denied` or `cancelled`, when nothing was started.
   */
  async delegate(
    request: DelegationRequest,
    call: IncomingCall,
    cancelled?: AbortSignal,
  ): Promise<DelegationResult> {
    const known = call.callId === undefined ? undefined : this.#byCall.get(call.callId);
    const starting = known ?? this.#start(request, call);
    if (call.callId !== undefined) this.#byCall.set(call.callId, starting);
    const delegation = await starting.catch((error: unknown) => {
      // Nothing was started, so the same call may try again.
      if (call.callId !== undefined) this.#byCall.delete(call.callId);
      throw error;
    });
    const onCancel = () =>
      delegation.apply({ type: "stop", cause: "cancel", reason: "the parent agent took the call back" });
    if (cancelled?.aborted) onCancel();
    else cancelled?.addEventListener("abort", onCancel, { once: true });
    return delegation.answer.finally(() => cancelled?.removeEventListener("abort", onCancel));
  }

  /** The delegation that a tool call started, if it has got that far. */
  ofCall(callId: string): DelegationState | undefined {
    return this.#started.get(callId)?.state;
  }

  /** The run is cancelled: stops all delegations that are not over, and starts no more. */
  cancelAll(reason: string): void {
    this.#closing.abort();
    for (const delegation of this.#active) delegation.apply({ type: "stop", cause: "cancel", reason });
  }

  /** Ends the run's delegations: each has its terminal event when this resolves. Bounded by the policies' cancel timeouts. */
  async close(reason: string): Promise<void> {
    this.cancelAll(reason);
    await Promise.all([...this.#active].map(({ answer }) => answer));
    const last = [...this.#active];
    for (const delegation of last) delegation.apply({ type: "close", reason });
    await Promise.all(last.map(({ over }) => over));
    this.#correlator.close();
  }

  async #start(request: DelegationRequest, call: IncomingCall): Promise<ActiveDelegation> {
    const { registry, clock, createId, artifacts, record } = this.delegator.options;
    if (this.#closing.signal.aborted)
      throw new TroupeError<DelegationErrorCode>("cancelled", "The run is over.");
    const entry = registry.get(request.agent);
    if (entry === undefined) {
      const listed = registry.keys().join(", ") || "none";
      throw new TroupeError<DelegationErrorCode>(
        "agent_not_found",
        `There is no agent "${request.agent}". Agents: ${listed}.`,
      );
    }
    const release = this.#acquire(entry, request.agent);
    try {
      const inputs = await this.#inputs(request);
      const { name, fingerprint } = await this.#describe(request.agent);
      let late: ActiveDelegation | undefined;
      const correlation = await this.#correlator.correlate(call, ({ toolCallId, level }) => {
        if (toolCallId !== undefined) late?.apply({ type: "correlated", toolCallId, correlation: level });
      });
      if (this.#closing.signal.aborted)
        throw new TroupeError<DelegationErrorCode>("cancelled", "The run is over.");
      const delegationId = createId("del");
      const delegation = new ActiveDelegation(
        {
          remote: entry.remote,
          policy: entry.policy,
          timeoutMs: clampTimeout(entry.policy, request.constraints?.timeout_seconds),
          clock,
          collector: new ArtifactCollector(delegationId, artifactPolicy(entry, request), artifacts),
          record: (event) => record(this.run, event),
          released: () => {
            release();
            this.#active.delete(delegation);
            this.#correlator.forget(call);
            this.delegator.ended(delegationId);
          },
        },
        newDelegation(
          {
            runId: this.run.runId,
            delegationId,
            agentKey: request.agent,
            agentName: name.slice(0, 128),
            protocol: entry.remote.protocol,
            ...(correlation.toolCallId === undefined ? {} : { parentToolCallId: correlation.toolCallId }),
          },
          {
            objective: request.objective,
            correlation: correlation.level,
            maxResultBytes: entry.policy.maxResultBytes,
            ...(fingerprint === undefined ? {} : { cardFingerprint: fingerprint }),
          },
        ),
      );
      late = delegation;
      this.delegator.keep(this.run, delegation);
      if (call.callId !== undefined) this.#started.set(call.callId, delegation);
      this.#active.add(delegation);
      delegation.start({
        delegationId,
        messageId: createId("msg"),
        text: requestText(request),
        artifacts: inputs,
        metadata: { troupe: { runId: this.run.runId, delegationId } },
      });
      return delegation;
    } catch (error) {
      release();
      this.#correlator.forget(call);
      throw error;
    }
  }

  #acquire({ policy }: RemoteEntry, agent: string): () => void {
    const { permits } = this.delegator;
    const busy = (where: string) =>
      new TroupeError<DelegationErrorCode>(
        "agent_busy",
        `Too many delegations at once ${where}. Wait for one to end, then call "${agent}" again.`,
        { retryable: true },
      );
    const ofRun = permits.acquire(runKey(this.run), policy.maxConcurrentPerRun);
    if (ofRun === undefined) throw busy("in this run");
    const ofHost = permits.acquire("host", policy.maxConcurrentPerHost);
    if (ofHost === undefined) {
      ofRun();
      throw busy("on this host");
    }
    return () => {
      ofRun();
      ofHost();
    };
  }

  async #describe(agent: string): Promise<{ name: string; fingerprint?: string }> {
    const { registry, clock } = this.delegator.options;
    const known = registry.state(agent);
    if (known?.status === "ready" && known.description !== undefined) return known.description;
    const describing = registry.describe(agent, this.#closing.signal);
    const description = await withinTime(clock, DESCRIBE_LIMIT_MS, describing);
    if (description !== undefined) return description;
    throw new TroupeError<DelegationErrorCode>(
      "agent_unavailable",
      `"${agent}" did not say what it is within ${DESCRIBE_LIMIT_MS / 1_000} s.`,
      { retryable: true },
    );
  }

  #isOwn(delegationId: string): boolean {
    const run = this.delegator.get(delegationId)?.run;
    return run !== undefined && runKey(run) === runKey(this.run);
  }

  /** The artifacts of earlier delegations of this run that go along. */
  async #inputs({ input }: DelegationRequest): Promise<RemoteInputArtifact[]> {
    const { artifacts } = this.delegator.options;
    const references = input?.artifacts ?? [];
    return Promise.all(
      references.map(async ({ name, uri, mime_type: mimeType }) => {
        const [, delegationId = "", artifact = ""] =
          /^host:\/\/delegations\/([^/]+)\/artifacts\/([^/]+)$/.exec(uri) ?? [];
        const own = this.#isOwn(delegationId);
        const stored = own ? await artifacts.get(delegationId, decodeName(artifact)) : undefined;
        if (stored === undefined)
          throw new TroupeError<DelegationErrorCode>(
            "invalid_input",
            `input.artifacts: there is no ${uri} in this run.`,
          );
        return { name, mimeType: mimeType ?? stored.description.mimeType, bytes: stored.bytes };
      }),
    );
  }
}

function runKey({ thread, runId }: DelegatingRun): string {
  return `${thread}\u0000${runId}`;
}

function artifactPolicy({ policy }: RemoteEntry, { constraints }: DelegationRequest): RemoteEntry["policy"] {
  return {
    ...policy,
    maxArtifacts: Math.min(policy.maxArtifacts, constraints?.max_artifacts ?? policy.maxArtifacts),
  };
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
