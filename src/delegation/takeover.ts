import { defined } from "../core/defined.js";
import { ActiveDelegation } from "./active-delegation.js";
import { ArtifactCollector } from "./artifacts.js";
import type { DelegatingRun } from "./delegating-run.js";
import type { DelegationState } from "./delegation-state.js";
import type { Delegator } from "./delegator.js";
import type { RemoteEntry } from "./directory.js";
import type { RecordedContent } from "./recorded-content.js";

/** A delegation that another process left open, as the journal has it. */
export interface AbandonedDelegation {
  readonly run: DelegatingRun;
  readonly state: DelegationState;
  readonly content: RecordedContent;
  /** Milliseconds since the epoch at which its own time is up, where that is on record. */
  readonly deadline?: number;
}

/** Whether {@link takeOver} can do anything for a delegation: its remote is known, and so is the remote's own name of the task. */
export function canTakeOver(delegator: Delegator, { run, state }: AbandonedDelegation): boolean {
  return state.identity.remoteTaskId !== undefined && entryOf(delegator, run, state) !== undefined;
}

/**
 * Goes on with a delegation that another process left, without its run, which is over: by its agent's policy it is followed to its
 * end, or stopped. The task is never sent once more.
 */
export function takeOver(delegator: Delegator, abandoned: AbandonedDelegation): void {
  const { run, state, content, deadline } = abandoned;
  const entry = entryOf(delegator, run, state);
  if (entry === undefined) return;
  const { artifacts, clock, createId, record, onError = () => undefined } = delegator.options;
  const { remote, policy } = entry;
  const { delegationId } = state.identity;
  const left = deadline === undefined ? policy.maxTimeoutMs : Math.max(1, deadline - clock.now());
  const delegation: ActiveDelegation = new ActiveDelegation(
    {
      remote,
      policy,
      timeoutMs: Math.min(left, policy.maxTimeoutMs),
      clock,
      collector: new ArtifactCollector(delegationId, policy, artifacts),
      record: (event) => record(run, event),
      onError,
      released: () => delegator.ended(delegationId),
    },
    {
      ...state,
      maxResultBytes: policy.maxResultBytes,
      responseMode: policy.responseMode,
      inputRequired: policy.inputRequired,
    },
  );
  delegator.keep(run, delegation);
  delegator.detach(run, delegation);
  const wasStopping = state.status === "cancel_pending";
  if (policy.onRunEnd === "detach" && !wasStopping && remote.reattach !== undefined) {
    const caller = { runId: run.runId, ...defined({ tenant: run.tenant }) };
    return delegation.resume({ delegationId, messageId: createId("msg"), run: caller }, content);
  }
  delegation.apply({ type: "stop", cause: "cancel", reason: "the host that ran it stopped" });
}

function entryOf(
  delegator: Delegator,
  run: DelegatingRun,
  { identity }: DelegationState,
): RemoteEntry | undefined {
  const entry = delegator.options.registry.forTenant(run.tenant).get(identity.agentKey);
  return entry?.remote.protocol === identity.protocol ? entry : undefined;
}
