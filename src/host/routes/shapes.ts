// What routes take and answer. Absent members are left out of the JSON. The reference in docs/reference/http.md is made from this.

import type { ErrorInfo } from "../../core/run-event.js";
import type { StopCause } from "../../delegation/delegation-state.js";
import type {
  ArtifactDescription,
  ArtifactError,
  CorrelationLevel,
  RemoteProtocol,
} from "../../delegation/events.js";
import type { RemoteQuestion } from "../../delegation/remote.js";
import type { DelegationResult } from "../../delegation/result.js";
import type { HistoryItem } from "../delegation-history.js";

/** How a run is. */
export type RunStatus = "running" | "finished" | "failed" | "cancelled";

/** Whom to tell why; all of it may be left out, the body too. */
export interface CancelBody {
  /** At most 500 characters; `user` by default. */
  readonly reason?: string | undefined;
}

/** An answer to what a remote asks: words, or data in the shape that the question's schema has. */
export interface InputBody {
  readonly text?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
}

/** A person's decision. */
export interface DecisionBody {
  readonly decision: "approve" | "deny";
  /** Why, for the agent. */
  readonly message?: string | undefined;
  /** In place of the tool's arguments, or the answer to a question. */
  readonly input?: unknown;
}

/** A run. */
export interface RunAnswer {
  readonly runId: string;
  readonly threadId: string;
  /** The agent's key. */
  readonly agent: string;
  readonly status: RunStatus;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** Why it failed. */
  readonly error: ErrorInfo | undefined;
}

/** A run with the ids of its delegations. */
export interface RunDetails extends RunAnswer {
  readonly delegations: readonly string[];
}

/** What a cancel of a run is answered with: the status at that moment. */
export interface RunCancelAnswer {
  readonly runId: string;
  readonly status: RunStatus;
}

/** The delegations of a run. */
export interface DelegationsAnswer {
  readonly delegations: readonly DelegationAnswer[];
}

/** A delegation. */
export interface DelegationAnswer {
  readonly runId: string;
  readonly delegationId: string;
  readonly agentKey: string;
  readonly agentName: string;
  readonly protocol: RemoteProtocol;
  /** The call that it is shown under, once known. */
  readonly parentToolCallId?: string;
  readonly remoteTaskId?: string;
  readonly remoteContextId?: string;
  /** `working`, `needs_input`, `stopping`, and at the end that of its result. */
  readonly status: string;
  readonly objective: string;
  /** How sure it is that the call is the one. */
  readonly correlation: CorrelationLevel;
  /** sha256 of the agent's card, hexadecimal. */
  readonly cardFingerprint: string | undefined;
  /** The remote's own word for its state. */
  readonly remoteStatus: string | undefined;
  /** Who stops it, and why. */
  readonly stop: { readonly cause: StopCause; readonly reason: string } | undefined;
  /** What the remote asks and nobody has answered yet. */
  readonly question: RemoteQuestion | undefined;
  readonly artifacts: readonly ShownArtifact[];
  /** Bytes that a person was shown. */
  readonly seen: number;
  /** What the parent's model gets. */
  readonly result: DelegationResult | undefined;
}

/** A file, and why it was not taken whole. */
export type ShownArtifact = ArtifactDescription & { readonly error: ArtifactError | undefined };

/** A delegation with all that happened in it but for its text. */
export interface DelegationDetails extends DelegationAnswer {
  readonly threadId: string;
  readonly history: readonly HistoryItem[];
}

/** What a cancel of a delegation is answered with: the status at that moment. */
export interface DelegationCancelAnswer {
  readonly delegationId: string;
  readonly status: string;
}

/** The answer was passed on. */
export interface InputAnswer {
  readonly delegationId: string;
}

/** The decision was taken. */
export interface DecisionAnswer {
  readonly decision: "approve" | "deny";
}

/** A page of threads, the latest first. */
export interface ThreadsAnswer {
  readonly threads: readonly ListedThread[];
  /** For `?before=`; absent with the last page. */
  readonly next?: string;
}

/** A thread in a list. */
export interface ListedThread {
  readonly threadId: string;
  /** The beginning of its first message that the host still knows. */
  readonly title: string;
  /** Its last run. */
  readonly run: {
    readonly runId: string;
    readonly agent: string;
    readonly status: RunStatus;
    readonly startedAt: number;
    readonly endedAt: number | undefined;
  };
  /** How many runs the host knows of. */
  readonly runs: number;
  /** Delegations that go on after their run. */
  readonly detached: number;
}

/** What a host offers. */
export interface AgentsAnswer {
  readonly agents: readonly { readonly key: string; readonly name: string; readonly driver: string }[];
  readonly subAgents: readonly ListedSubAgent[];
}

/** A sub-agent in a list: no address, no credential. */
export interface ListedSubAgent {
  readonly key: string;
  readonly name: string;
  readonly protocol: RemoteProtocol;
  readonly status: "ready" | "unreachable" | "unknown";
  readonly description: string;
  readonly skills: readonly { readonly id: string; readonly name: string }[];
}

/** That the host lives. */
export interface HealthAnswer {
  readonly status: "ok";
  readonly version: string;
}

/** Any error. */
export interface ErrorAnswer {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** The same may work later. */
    readonly retryable?: boolean;
  };
}
