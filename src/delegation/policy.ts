import type { ContextPolicy } from "./context.js";

/**
 * What happens when a remote asks something. `surface`: a person is asked, and the call waits. `return`: the parent's model gets
 * the question and may answer with `task_reply`. `fail`: the task is stopped.
 */
export type InputPolicy = "surface" | "return" | "fail";

/**
 * How much a result holds. `artifact`: a summary, and files by reference. `structured`: JSON files also as `data`, as far as they
 * fit. `compact`: ids, status and summary. `raw`: as `artifact`, but the final text is cut only at the hard limit.
 */
export type ResponseMode = "artifact" | "structured" | "compact" | "raw";

/** What becomes of a delegation whose run ends by itself. A run that is cancelled takes its delegations along in any case. */
export type RunEndPolicy = "cancel" | "detach";

/** How files go to a remote: their bytes within the message, or as a URL of the host that it may fetch while it works. */
export type InputArtifactPolicy = "inline" | "reference";

/** What the journal keeps of what was sent: its size and sha256, or its text as well. */
export type AuditLevel = "digest" | "full";

/** What the host allows in one delegation. Times in milliseconds, sizes in bytes. */
export interface DelegationPolicy {
  /** Upper bound of a delegation's life, and the default when the call asks for none. */
  readonly maxTimeoutMs: number;
  /** How long a remote may be silent before it counts as gone. Questions that wait for an answer do not count. */
  readonly idleTimeoutMs: number;
  readonly maxConcurrentPerRun: number;
  readonly maxConcurrentPerHost: number;
  /** How long a call waits for its turn when too much runs already; by default it is refused at once as `agent_busy`. */
  readonly queueMs: number;
  readonly maxArtifactBytes: number;
  readonly maxArtifacts: number;
  /** Upper bound of the JSON that the parent's model gets; at least 2 KB, never above 40 KB, where programs cut by themselves. */
  readonly maxResultBytes: number;
  readonly responseMode: ResponseMode;
  /** How long the remote may take to confirm a cancel before it is called pending. */
  readonly cancelTimeoutMs: number;
  /** How long an unconfirmed cancel is watched. */
  readonly cancelWatchMs: number;
  /** Whether delegations share a remote conversation. */
  readonly context: ContextPolicy;
  readonly inputRequired: InputPolicy;
  /** How long a question waits for its answer. */
  readonly inputTimeoutMs: number;
  /** Whether the remote's artifacts are kept at all. */
  readonly allowRemoteArtifacts: boolean;
  /** Whether calls may run side by side; told to programs that run tools in parallel only then. */
  readonly parallel: boolean;
  /** Tenants for whom the agent exists; all when absent. */
  readonly allowedTenants?: readonly string[];
  /** How many delegations may lead to one another. */
  readonly maxDepth: number;
  readonly onRunEnd: RunEndPolicy;
  readonly inputArtifacts: InputArtifactPolicy;
  readonly auditLevel: AuditLevel;
}

/** Ids and an error need this much. */
const LEAST_RESULT_LIMIT = 2_048;
/** Programs cut or divert results above this by themselves. */
const HARD_RESULT_LIMIT = 40_960;

/** The policy of a host that says nothing. */
export const DEFAULT_POLICY: DelegationPolicy = {
  maxTimeoutMs: 1_800_000,
  idleTimeoutMs: 900_000,
  maxConcurrentPerRun: 8,
  maxConcurrentPerHost: 64,
  queueMs: 0,
  maxArtifactBytes: 10_485_760,
  maxArtifacts: 50,
  maxResultBytes: 8_192,
  responseMode: "artifact",
  cancelTimeoutMs: 5_000,
  cancelWatchMs: 60_000,
  context: "ephemeral",
  inputRequired: "surface",
  inputTimeoutMs: 600_000,
  allowRemoteArtifacts: true,
  parallel: true,
  maxDepth: 4,
  onRunEnd: "cancel",
  inputArtifacts: "inline",
  auditLevel: "digest",
};

/** Fills in the defaults and clamps what has a hard bound. */
export function resolvePolicy(policy: Partial<DelegationPolicy> = {}): DelegationPolicy {
  const merged = { ...DEFAULT_POLICY, ...policy };
  const wanted = merged.responseMode === "raw" ? HARD_RESULT_LIMIT : merged.maxResultBytes;
  return {
    ...merged,
    maxResultBytes: Math.min(Math.max(wanted, LEAST_RESULT_LIMIT), HARD_RESULT_LIMIT),
  };
}

/** The time a delegation gets: what the call asks for, at most what the policy allows. */
export function clampTimeout(policy: DelegationPolicy, askedSeconds: number | undefined): number {
  return Math.min(
    askedSeconds === undefined ? policy.maxTimeoutMs : askedSeconds * 1_000,
    policy.maxTimeoutMs,
  );
}
