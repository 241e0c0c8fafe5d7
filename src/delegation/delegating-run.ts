import type { Lineage } from "./lineage.js";

/** The run that delegations belong to. */
export interface DelegatingRun {
  readonly runId: string;
  readonly thread: string;
  /** Whose thread it is; absent where a host serves nobody but its owner. */
  readonly tenant?: string;
  /** The agent that runs, by a name that no agent of another host has. */
  readonly agent?: string;
  /** The delegations that led to this run, the oldest first; empty for one that a person started. */
  readonly lineage?: Lineage;
  /** W3C trace context that the run belongs to. */
  readonly traceparent?: string;
}

/** Tells runs apart: clients choose their ids, so only a thread makes one unique. */
export function runKey({ thread, runId }: DelegatingRun): string {
  return `${thread}\u0000${runId}`;
}
