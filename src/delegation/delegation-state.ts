import type {
  ArtifactDescription,
  ArtifactError,
  CorrelationLevel,
  DelegationAudit,
  RemoteProtocol,
  SubagentEvent,
} from "./events.js";
import type { InputPolicy, ResponseMode } from "./policy.js";
import type { RemoteCancelAnswer, RemoteQuestion, RemoteSignal } from "./remote.js";
import type { DelegationResult, ResultParts } from "./result.js";

/** Why a delegation is being stopped before its remote ended. */
export type StopCause = "cancel" | "deadline" | "input_required";

/** The stronger cause of a stop is told, whichever came first. */
export const CAUSES: readonly StopCause[] = ["input_required", "deadline", "cancel"];

/** Messages of a remote that are remembered: more than any result has room for. */
export const MAX_TEXTS = 64;

/** Calls of tools that a remote may have open at once: the oldest is ended when it opens another, since each event looks at them. */
export const MAX_OPEN_TOOLS = 256;

/** Characters of a remote's own words that go into an event or an error. */
export const MAX_WORDS = 2_000;

/** Everything known of one delegation. A value: each step makes a new one. */
export interface DelegationState {
  readonly identity: {
    readonly runId: string;
    readonly delegationId: string;
    readonly agentKey: string;
    readonly agentName: string;
    readonly protocol: RemoteProtocol;
    readonly parentToolCallId?: string;
    readonly remoteTaskId?: string;
    readonly remoteContextId?: string;
  };
  readonly objective: string;
  readonly correlation: CorrelationLevel;
  readonly cardFingerprint?: string;
  readonly cardChangedFrom?: string;
  /** Until it is recorded with the start. */
  readonly audit?: DelegationAudit;
  /** The run is over, and nothing was said of the delegation since. */
  readonly detached?: boolean;
  readonly maxResultBytes: number;
  readonly responseMode: ResponseMode;
  /** What happens when the remote asks something. */
  readonly inputRequired: InputPolicy;
  readonly phase: "new" | "working" | "stopping" | "over";
  readonly started: boolean;
  readonly status?: string;
  readonly stop?: { readonly cause: StopCause; readonly reason: string };
  /** What the remote asks and nobody has answered yet. */
  readonly question?: RemoteQuestion;
  readonly openText?: string;
  /** The text that was open when the run ended: more of it belongs to the same message. */
  readonly cutText?: string;
  readonly openReasoning?: string;
  readonly openTools: readonly string[];
  /** Complete messages, then the one that grows. */
  readonly texts: readonly string[];
  readonly growing: string;
  readonly artifacts: ResultParts["artifacts"];
  /** Bytes that a person was shown. */
  readonly seen: number;
  /** What the parent's model gets; set once. */
  readonly answer?: DelegationResult;
}

/** What a delegation has to react to. */
export type DelegationInput =
  | RemoteSignal
  /** Show the delegation now, whether the remote has accepted or not. */
  | { readonly type: "show" }
  | { readonly type: "correlated"; readonly toolCallId: string; readonly correlation: CorrelationLevel }
  | {
      readonly type: "artifact_collected";
      readonly artifact: ArtifactDescription;
      readonly error?: ArtifactError;
      /** What the JSON of a file says, for results that hold it; never part of an event. */
      readonly data?: unknown;
    }
  /** The remote took an answer to its question. */
  | { readonly type: "answered"; readonly by: "person" | "parent" }
  /** Nobody answered the remote's question in time. */
  | { readonly type: "input_expired" }
  /** The run ends and the delegation goes on: what is open in the stream is closed. */
  | { readonly type: "detach" }
  | { readonly type: "stop"; readonly cause: StopCause; readonly reason: string }
  /** The remote's answer to the cancel request, or `undefined` when none came in time. */
  | { readonly type: "cancel_answered"; readonly answer: RemoteCancelAnswer | undefined }
  /** The watch over an unconfirmed cancel ended. */
  | { readonly type: "watch_ended"; readonly remoteStatus?: string }
  /** The run ends now: whatever is open gets its terminal event. */
  | { readonly type: "close"; readonly reason: string };

/** What has to be done outside because of a step. */
export type DelegationEffect = "ask" | "cancel_remote" | "watch_cancel" | "answer" | "end";

/** The outcome of one step. */
export interface DelegationStep {
  readonly state: DelegationState;
  readonly events: readonly SubagentEvent[];
  readonly effects: readonly DelegationEffect[];
}

/** A delegation that has not begun. */
export function newDelegation(
  identity: DelegationState["identity"],
  details: Pick<DelegationState, "objective" | "correlation" | "maxResultBytes"> & {
    readonly cardFingerprint?: string;
    readonly cardChangedFrom?: string;
    readonly audit?: DelegationAudit;
    readonly inputRequired?: InputPolicy;
    readonly responseMode?: ResponseMode;
  },
): DelegationState {
  return {
    inputRequired: "fail",
    responseMode: "artifact",
    ...details,
    identity,
    phase: "new",
    started: false,
    openTools: [],
    texts: [],
    growing: "",
    artifacts: [],
    seen: 0,
  };
}
