import { defined } from "../../core/defined.js";
import type { Nested, RunEvent } from "../../core/run-event.js";
import { type AguiEvent, custom, type ThreadEntry } from "./event.js";

/** What the parent's encoding depends on. */
export interface ParentEncoding {
  /** The thread's id as the reader knows it; the journal's key also holds the tenant. */
  readonly threadId: string;
  /** Whether the reader knows `outcome: cancelled`; it kills the run in clients before AG-UI 1.0. */
  readonly cancelledOutcome: boolean;
}

/** Encodes the events of the run itself. */
export function encodeParent(
  { runId }: ThreadEntry,
  event: RunEvent,
  encoding: ParentEncoding,
): AguiEvent | undefined {
  const { threadId } = encoding;
  switch (event.type) {
    case "run.started": {
      const messages = event.messages.map(({ id, text }) => ({ id, role: "user", content: text }));
      // Replaying clients take the person's messages from here; without the echo they vanish after a reload.
      const input = { threadId, runId, state: {}, messages, tools: [], context: [], forwardedProps: {} };
      const parent = event.continues === undefined ? {} : { parentRunId: event.continues };
      return { type: "RUN_STARTED", threadId, runId, ...parent, input };
    }
    case "text.start":
    case "text.delta":
    case "text.end":
      // The words of a native subagent are not the parent's, and AG-UI has no place for them under a tool call.
      return event.parentToolCallId === undefined ? encodeText(event) : undefined;
    case "reasoning.start":
    case "reasoning.delta":
    case "reasoning.end":
      return event.parentToolCallId === undefined ? encodeReasoning(event) : undefined;
    case "tool.start": {
      const metadata = { rawName: event.name, ...nestedIn(event) };
      return {
        type: "TOOL_CALL_START",
        toolCallId: event.toolCallId,
        toolCallName: event.tool ?? event.name,
        metadata,
      };
    }
    case "tool.args":
      return { type: "TOOL_CALL_ARGS", toolCallId: event.toolCallId, delta: event.delta };
    case "tool.end":
      return { type: "TOOL_CALL_END", toolCallId: event.toolCallId };
    case "tool.result": {
      const { toolCallId, content, isError, synthetic } = event;
      const metadata = { isError, ...defined({ synthetic }) };
      return {
        type: "TOOL_CALL_RESULT",
        messageId: `${toolCallId}-result`,
        toolCallId,
        content,
        role: "tool",
        metadata,
      };
    }
    case "approval.requested":
      return custom(event.type, event.approval);
    case "approval.resolved":
    case "plan.updated":
    case "notice": {
      const { type, ...value } = event;
      return custom(type, value);
    }
    case "usage":
      return undefined;
    case "run.finished":
      return { type: "RUN_FINISHED", threadId, runId, result: { status: "finished", text: event.text } };
    case "run.cancelled": {
      const outcome = encoding.cancelledOutcome ? { outcome: { type: "cancelled" } } : {};
      return {
        type: "RUN_FINISHED",
        threadId,
        runId,
        result: { status: "cancelled", reason: event.reason },
        ...outcome,
      };
    }
    case "run.failed":
      return { type: "RUN_ERROR", message: event.error.message, code: event.error.code };
  }
}

function encodeText(event: Extract<RunEvent, { type: `text.${string}` }>): AguiEvent {
  const { messageId } = event;
  if (event.type === "text.start") return { type: "TEXT_MESSAGE_START", messageId, role: "assistant" };
  if (event.type === "text.delta") return { type: "TEXT_MESSAGE_CONTENT", messageId, delta: event.delta };
  return { type: "TEXT_MESSAGE_END", messageId };
}

function encodeReasoning(event: Extract<RunEvent, { type: `reasoning.${string}` }>): AguiEvent {
  const { messageId } = event;
  if (event.type === "reasoning.start")
    return { type: "REASONING_MESSAGE_START", messageId, role: "reasoning" };
  if (event.type === "reasoning.delta")
    return { type: "REASONING_MESSAGE_CONTENT", messageId, delta: event.delta };
  return { type: "REASONING_MESSAGE_END", messageId };
}

function nestedIn({ parentToolCallId }: Nested): Nested {
  return parentToolCallId === undefined ? {} : { parentToolCallId };
}
