import type { ErrorInfo } from "../core/run-event.js";
import type { Lineage } from "./lineage.js";

/** The protocol a remote speaks. */
export type RemoteProtocol = "a2a" | "agui" | "local";

/** Stands on every event of a delegation. Readers group by `runId`, `parentToolCallId`, `delegationId`. */
export interface SubagentIdentity {
  readonly runId: string;
  /** Absent while it is not known; `subagent.correlated` brings it later. */
  readonly parentToolCallId?: string;
  readonly delegationId: string;
  readonly agentKey: string;
  readonly agentName: string;
  readonly protocol: RemoteProtocol;
  readonly remoteTaskId?: string;
  readonly remoteContextId?: string;
}

/** A file or text that a remote made. The bytes are in the artifact store. */
export interface ArtifactDescription {
  readonly id: string;
  readonly name: string;
  readonly mimeType: string;
  /** `host://delegations/<delegationId>/artifacts/<name>`; the host's artifact route serves it by id or name. */
  readonly uri: string;
  /** Bytes. */
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** The first 2 KB, when it is text. */
  readonly preview?: string;
}

/** Who asked for a delegation, and what was sent: for the audit. Readers of the stream do not get it. */
export interface DelegationAudit {
  readonly tenant?: string;
  /** The parent's tool, and its own id of the call. */
  readonly tool: string;
  readonly callId?: string;
  readonly skillId?: string;
  /** The message's id at the remote. */
  readonly messageId: string;
  /** Bytes of the text. */
  readonly size: number;
  /** Of the text, hexadecimal. */
  readonly sha256: string;
  /** With audit level `full`. */
  readonly text?: string;
  readonly artifacts: readonly { readonly name: string; readonly uri: string; readonly sha256: string }[];
  readonly lineage: Lineage;
  readonly traceparent: string;
  readonly timeoutMs: number;
}

/** Why an artifact was not kept. */
export interface ArtifactError {
  readonly code: "artifact_too_large" | "policy_denied";
  readonly message: string;
}

/** Why a delegation did not complete. `remoteStatus` is the remote's own word for its state. */
export interface DelegationError extends ErrorInfo {
  readonly code: DelegationErrorCode;
  readonly remoteStatus?: string;
}

/** Closed set of a delegation's error codes. */
export type DelegationErrorCode =
  | "agent_not_found"
  | "agent_unavailable"
  | "agent_busy"
  | "capability_unsupported"
  | "policy_denied"
  | "invalid_input"
  | "input_required"
  | "nothing_asked"
  | "remote_rejected"
  | "remote_failed"
  | "remote_timeout"
  | "remote_cancelled"
  | "stream_interrupted"
  | "artifact_too_large"
  | "result_expired"
  | "host_stopped"
  | "cancelled"
  | "internal";

/** How the tool call of a delegation was found. */
export type CorrelationLevel = "strong" | "medium" | "none";

/** What the parent's model was given at the end, and what a person saw. */
export interface BoundarySizes {
  /** Bytes of text, reasoning, tools and artifacts that were shown. */
  readonly seen: number;
  /** Bytes of the JSON that the parent's model got. */
  readonly model: number;
}

/** What happened, without whose it is. */
export type SubagentChange =
  | {
      readonly type: "subagent.started";
      readonly objective: string;
      readonly correlation: CorrelationLevel;
      readonly cardFingerprint?: string;
      /** The card was another one when the agent was last heard of; told with the first delegation afterwards. */
      readonly cardChangedFrom?: string;
      readonly audit?: DelegationAudit;
    }
  /** The run is over and the delegation goes on; what it does from now on belongs to no run's own time. */
  | { readonly type: "subagent.detached" }
  /** The first of what a delegation does after {@link SubagentChange} `subagent.detached`. */
  | { readonly type: "subagent.resumed" }
  | { readonly type: "subagent.status"; readonly status: string; readonly message?: string }
  | { readonly type: "subagent.correlated"; readonly correlation: CorrelationLevel }
  | { readonly type: "subagent.text.start"; readonly messageId: string }
  | { readonly type: "subagent.text.delta"; readonly messageId: string; readonly delta: string }
  | { readonly type: "subagent.text.end"; readonly messageId: string }
  | { readonly type: "subagent.reasoning.start"; readonly messageId: string }
  | { readonly type: "subagent.reasoning.delta"; readonly messageId: string; readonly delta: string }
  | { readonly type: "subagent.reasoning.end"; readonly messageId: string }
  | { readonly type: "subagent.tool.start"; readonly toolCallId: string; readonly name: string }
  | { readonly type: "subagent.tool.args"; readonly toolCallId: string; readonly delta: string }
  | { readonly type: "subagent.tool.end"; readonly toolCallId: string }
  | {
      readonly type: "subagent.tool.result";
      readonly toolCallId: string;
      readonly content: string;
      readonly isError: boolean;
    }
  | { readonly type: "subagent.input_required"; readonly prompt: string; readonly schema?: unknown }
  | { readonly type: "subagent.input_resolved"; readonly by: "person" | "parent" | "timeout" | "remote" }
  /** A later event with the same artifact id replaces the earlier one. With `error` the bytes were not kept. */
  | {
      readonly type: "subagent.artifact";
      readonly artifact: ArtifactDescription;
      readonly error?: ArtifactError;
    }
  | { readonly type: "subagent.finished"; readonly result: unknown; readonly sizes: BoundarySizes }
  | {
      readonly type: "subagent.failed";
      readonly error: DelegationError;
      readonly result: unknown;
      readonly sizes: BoundarySizes;
    }
  | {
      readonly type: "subagent.cancelled";
      readonly reason: string;
      /** Whether the remote confirmed it. */
      readonly confirmed: boolean;
      readonly result: unknown;
      readonly sizes: BoundarySizes;
    };

/** Everything that a delegation appends to the journal. Exactly one `subagent.started` first, one terminal event last. */
export type SubagentEvent = SubagentIdentity & SubagentChange;

/** Whether `event` ends its delegation. */
export function isSubagentTerminal(event: { readonly type: string }): boolean {
  return (
    event.type === "subagent.finished" ||
    event.type === "subagent.failed" ||
    event.type === "subagent.cancelled"
  );
}
