import { createMemoryArtifactStore } from "../../src/delegation/artifacts.js";
import type { IncomingCall } from "../../src/delegation/correlation.js";
import type { DelegatingRun } from "../../src/delegation/delegating-run.js";
import { Delegator, type DelegatorOptions } from "../../src/delegation/delegator.js";
import type { SubagentEvent } from "../../src/delegation/events.js";
import type { DelegationPolicy } from "../../src/delegation/policy.js";
import { RemoteRegistry } from "../../src/delegation/registry.js";
import type { DelegationResult } from "../../src/delegation/result.js";
import type { RunDelegations } from "../../src/delegation/run-delegations.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { FakeRemote } from "./fake-remote.js";

/** A delegator over a {@link FakeRemote} with time that stands still. */
export class DelegationBench {
  readonly clock = new ManualClock();
  readonly remote = new FakeRemote();
  readonly events: SubagentEvent[] = [];
  readonly delegator: Delegator;
  readonly registry: RemoteRegistry;
  readonly run: RunDelegations;
  #count = 0;

  constructor(policy: Partial<DelegationPolicy> = {}, options: Partial<DelegatorOptions> = {}) {
    this.registry = new RemoteRegistry([{ remote: this.remote, policy }], this.clock);
    this.delegator = new Delegator({
      registry: this.registry,
      artifacts: createMemoryArtifactStore(),
      clock: this.clock,
      createId: (prefix) => `${prefix}-${++this.#count}`,
      record: async (_run: DelegatingRun, event: SubagentEvent) => {
        this.events.push(event);
      },
      correlationGraceMs: 0,
      ...options,
    });
    this.run = this.delegator.openRun({ runId: "run-1", thread: "/t" });
  }

  /** Calls `research` and lets everything react that needs no time. */
  async call(
    objective = "Find out",
    { callId, cancelled, run = this.run, constraints }: CallOptions = {},
  ): Promise<{ readonly answer: Promise<DelegationResult>; readonly incoming: IncomingCall }> {
    const input = { agent: "research", objective, ...(constraints === undefined ? {} : { constraints }) };
    const incoming: IncomingCall = {
      tool: "delegate_to_agent",
      input,
      ...(callId === undefined ? {} : { callId }),
    };
    const answer = run.delegate(input, incoming, cancelled === undefined ? {} : { cancelled });
    answer.catch(() => undefined);
    await this.clock.advance(0);
    return { answer, incoming };
  }

  /** The newest task at the remote. */
  get task() {
    const task = this.remote.tasks.at(-1);
    if (task === undefined) throw new Error("The remote got no task.");
    return task;
  }

  types(delegationId?: string): string[] {
    return this.events
      .filter((event) => delegationId === undefined || event.delegationId === delegationId)
      .map(({ type }) => type.replace("subagent.", ""));
  }

  get terminal(): SubagentEvent | undefined {
    return this.events.findLast(({ type }) => /finished|failed|cancelled/.test(type));
  }

  /** What is left after everything ended. */
  get left() {
    return { timers: this.clock.pending, permits: this.delegator.permits.held("host") };
  }
}

/** Options of one call. */
export interface CallOptions {
  readonly callId?: string;
  readonly cancelled?: AbortSignal;
  readonly run?: RunDelegations;
  readonly constraints?: { readonly timeout_seconds?: number; readonly max_artifacts?: number };
}
