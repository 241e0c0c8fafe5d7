import type { ApprovalDecision, ApprovalRequest } from "./approval.js";

/** A message of the person that a run answers. `id` is the client's own, so that a replay shows the same bubble. */
export interface UserMessage {
  readonly id: string;
  readonly text: string;
}

/** Tokens and money of a run as the local agent reports them; a field is absent when it does not. */
export interface Usage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cachedInputTokens?: number;
  /** US dollars. */
  readonly cost?: number;
}

/** One step of the agent's plan. */
export interface PlanStep {
  readonly text: string;
  readonly status: "pending" | "in_progress" | "completed";
}

/** What was wrong, in the shape that events and HTTP answers carry. */
export interface ErrorInfo {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

/**
 * Set on events of an agent's own (native) subagent: the tool call that started it. Such text and tools are shown apart and
 * never count as the run's own text.
 */
export interface Nested {
  readonly parentToolCallId?: string;
}

/** Events that a driver may emit while a run works. The run itself adds the first and the last event. */
export type DriverEvent =
  | ({ readonly type: "text.start"; readonly messageId: string } & Nested)
  | ({ readonly type: "text.delta"; readonly messageId: string; readonly delta: string } & Nested)
  | ({ readonly type: "text.end"; readonly messageId: string } & Nested)
  | ({ readonly type: "reasoning.start"; readonly messageId: string } & Nested)
  | ({ readonly type: "reasoning.delta"; readonly messageId: string; readonly delta: string } & Nested)
  | ({ readonly type: "reasoning.end"; readonly messageId: string } & Nested)
  | ({
      readonly type: "tool.start";
      readonly toolCallId: string;
      /** As the program names it, e.g. `mcp__a2a-subagents__delegate_to_agent`. */
      readonly name: string;
      /** MCP server and tool, when it is an MCP tool. */
      readonly server?: string;
      readonly tool?: string;
    } & Nested)
  | { readonly type: "tool.args"; readonly toolCallId: string; readonly delta: string }
  | { readonly type: "tool.end"; readonly toolCallId: string }
  | {
      readonly type: "tool.result";
      readonly toolCallId: string;
      /** What the model was given, as text. */
      readonly content: string;
      readonly isError: boolean;
      /** The run ended before the program reported a result; the run closed the call itself. */
      readonly synthetic?: true;
    }
  | { readonly type: "plan.updated"; readonly steps: readonly PlanStep[] }
  | { readonly type: "usage"; readonly usage: Usage }
  | {
      readonly type: "notice";
      readonly level: "info" | "warning";
      readonly code: string;
      readonly message: string;
    };

/** Everything that a run emits, in order: exactly one `run.started` first and one terminal event last. */
export type RunEvent =
  | DriverEvent
  | {
      readonly type: "run.started";
      readonly agent: string;
      readonly messages: readonly UserMessage[];
      /** No agent's run: it holds what was left to happen of this earlier one. */
      readonly continues?: string;
    }
  | { readonly type: "approval.requested"; readonly approval: ApprovalRequest }
  | {
      readonly type: "approval.resolved";
      readonly approvalId: string;
      readonly decision: ApprovalDecision["decision"];
      readonly by: ApprovalResolver;
    }
  | { readonly type: "run.finished"; readonly text: string; readonly usage?: Usage }
  | { readonly type: "run.failed"; readonly error: ErrorInfo; readonly usage?: Usage }
  | { readonly type: "run.cancelled"; readonly reason: string };

/** Who decided an approval. */
export type ApprovalResolver = "person" | "policy" | "timeout" | "run_end" | "program";

/** Whether `event` ends its run. */
export function isRunTerminal(event: { readonly type: string }): boolean {
  return event.type === "run.finished" || event.type === "run.failed" || event.type === "run.cancelled";
}
