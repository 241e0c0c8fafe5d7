import { useEffect, useState } from "react";
import { ClientError, type DelegationRecord } from "../../../src/client/index.js";
import { useThread } from "../thread/thread-context.js";

export interface RecordState {
  readonly record?: DelegationRecord;
  readonly problem?: string;
}

/** The host's record of a delegation, asked for again whenever `shape` changes. */
export function useRecord(delegationId: string, shape: string): RecordState {
  const thread = useThread();
  const [state, setState] = useState<RecordState>({});
  // biome-ignore lint/correctness/useExhaustiveDependencies: another shape means another record
  useEffect(() => {
    const controller = new AbortController();
    thread.delegationRecord(delegationId, controller.signal).then(
      (record) => setState({ record }),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        const gone = error instanceof ClientError && error.code === "not_found";
        const problem = gone
          ? "The host no longer has a record of it."
          : "The host’s record of it could not be read.";
        setState((before) => ({ ...before, problem }));
      },
    );
    return () => controller.abort();
  }, [thread, delegationId, shape]);
  return state;
}
