import type { DelegationErrorCode, RemoteProtocol } from "./events.js";

/** One thing a remote agent can do, from its card. */
export interface RemoteSkill {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of its input, as the card has it; passed on without a change. */
  readonly inputSchema?: unknown;
}

/** What a remote says of itself. All text is the remote's own: cap it before it is shown. */
export interface RemoteDescription {
  readonly name: string;
  readonly description: string;
  readonly skills: readonly RemoteSkill[];
  readonly streaming: boolean;
  /** sha256 of the card, hexadecimal, for the audit. */
  readonly fingerprint?: string;
}

/** For whom a remote works; a host may choose the credential by it. */
export interface RemoteCaller {
  readonly runId: string;
  /** On a host with tenants. */
  readonly tenant?: string;
}

/** A file or text that goes with a task: its bytes, or where the remote may fetch them while it works. */
export type RemoteInputArtifact = {
  readonly name: string;
  readonly mimeType: string;
} & ({ readonly bytes: Uint8Array } | { readonly url: string });

/** One bounded task for a remote. */
export interface RemoteTask {
  readonly delegationId: string;
  /** Sent as the message's id, the same on any retry. */
  readonly messageId: string;
  readonly run?: RemoteCaller;
  /** The whole text for the remote: objective, prompt and context. */
  readonly text: string;
  readonly artifacts: readonly RemoteInputArtifact[];
  /** Goes out as the message's metadata: lineage and correlation, never a credential. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** W3C trace context of the delegation, where the protocol has a place for it. */
  readonly traceparent?: string;
  /** The remote conversation to go on with; absent for a fresh one. */
  readonly contextId?: string;
}

/** The remote's own names of a running task. */
export interface RemoteTaskReference {
  readonly taskId: string;
  readonly contextId?: string;
  readonly run?: RemoteCaller;
}

/** A piece of an artifact. `mode` says what it does to what came before under the same id. */
export interface RemoteArtifactChunk {
  readonly id: string;
  readonly name?: string;
  readonly mimeType?: string;
  readonly mode: "append" | "replace";
  readonly bytes: Uint8Array;
  /** The remote says that nothing follows. */
  readonly last: boolean;
}

/** What happens at a remote, free of any protocol. All adapters speak it, and one reducer folds it. */
export type RemoteSignal =
  | { readonly type: "accepted"; readonly taskId?: string; readonly contextId?: string }
  | { readonly type: "status"; readonly status: string; readonly message?: string }
  | { readonly type: "text"; readonly messageId: string; readonly delta: string }
  | { readonly type: "reasoning"; readonly messageId: string; readonly delta: string }
  | { readonly type: "tool.start"; readonly toolCallId: string; readonly name: string }
  | { readonly type: "tool.args"; readonly toolCallId: string; readonly delta: string }
  | { readonly type: "tool.end"; readonly toolCallId: string }
  | {
      readonly type: "tool.result";
      readonly toolCallId: string;
      readonly content: string;
      readonly isError: boolean;
    }
  | { readonly type: "artifact"; readonly chunk: RemoteArtifactChunk }
  | { readonly type: "input_required"; readonly prompt?: string; readonly schema?: unknown }
  | { readonly type: "auth_required"; readonly prompt?: string }
  /** `message`: the remote's closing words, used as the summary when it streamed no text. */
  | { readonly type: "completed"; readonly message?: string }
  | {
      readonly type: "failed";
      readonly message?: string;
      readonly code?: DelegationErrorCode;
      readonly retryable?: boolean;
      readonly remoteStatus?: string;
    }
  | { readonly type: "rejected"; readonly message?: string }
  | { readonly type: "cancelled"; readonly message?: string }
  /** The stream ended or broke without a final state. */
  | { readonly type: "disconnected"; readonly message: string };

/** Something that a remote wants to know before it goes on. */
export interface RemoteQuestion {
  readonly prompt: string;
  /** JSON Schema of the answer, when it wants data rather than words. */
  readonly schema?: unknown;
}

/** An answer to a {@link RemoteQuestion}: words, or data by its schema. */
export interface RemoteInput {
  readonly text?: string;
  readonly data?: unknown;
}

/** What a remote answered to a cancel request. `pending`: it did not say that the task is over. */
export type RemoteCancelAnswer =
  | { readonly outcome: "cancelled" }
  | { readonly outcome: "already_over"; readonly remoteStatus: string }
  | { readonly outcome: "pending"; readonly detail: string };

/** A remote agent that the host curates. Implemented by `remotes/`. */
export interface RemoteAgent {
  /** The only name the model knows it by. */
  readonly key: string;
  readonly protocol: RemoteProtocol;
  /**
   * Fetches (or revalidates) what the remote says of itself.
   * @throws TroupeError `agent_unavailable`, `capability_unsupported` or `policy_denied`.
   */
  describe(signal: AbortSignal): Promise<RemoteDescription>;
  /**
   * Starts a task. Never throws for what the remote does: that becomes a signal. The iteration ends after a final signal or
   * `disconnected`, and closes its connection when it is returned early or `signal` aborts.
   */
  start(task: RemoteTask, signal: AbortSignal): AsyncIterable<RemoteSignal>;
  /**
   * Follows a task that another process started: what it said so far is told again, then what it says. Never sends the task once
   * more. Absent where a task cannot be found again.
   * @param task the ids of the delegation; `messageId` is a new one, for answers to questions.
   */
  reattach?(
    reference: RemoteTaskReference,
    task: Pick<RemoteTask, "delegationId" | "messageId">,
    signal: AbortSignal,
  ): AsyncIterable<RemoteSignal>;
  /**
   * Answers the question that the task waits with. What follows comes out of the iteration that {@link RemoteAgent.start} gave.
   * @throws TroupeError when the remote did not take it.
   */
  answer?(reference: RemoteTaskReference, input: RemoteInput, signal: AbortSignal): Promise<void>;
  /**
   * Asks the remote to stop a task; one attempt, bounded by `signal`. Never rejects.
   * `delegationId` and `reason` go along as metadata where the protocol has a place for it.
   */
  cancel(
    reference: RemoteTaskReference,
    request: { delegationId: string; reason: string },
    signal: AbortSignal,
  ): Promise<RemoteCancelAnswer>;
  /** Looks once whether a task is over; used after a cancel that was not confirmed. Never rejects. */
  look(
    reference: RemoteTaskReference,
    signal: AbortSignal,
  ): Promise<{ readonly over: boolean; readonly remoteStatus: string }>;
  /** Releases connections. */
  close(): Promise<void>;
}
