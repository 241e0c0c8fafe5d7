/** The run that delegations belong to. */
export interface DelegatingRun {
  readonly runId: string;
  readonly thread: string;
}

/** Tells runs apart: clients choose their ids, so only a thread makes one unique. */
export function runKey({ thread, runId }: DelegatingRun): string {
  return `${thread}\u0000${runId}`;
}
