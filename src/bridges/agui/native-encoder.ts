import type { SubagentEvent } from "../../delegation/events.js";
import { type AguiEvent, custom } from "./event.js";

/**
 * Subagent events as AG-UI's own `SUBAGENT_*` (since 0.0.59), content tagged with `subagentRunId`. What the protocol has no event
 * for stays `CUSTOM`, tagged as well. Ids of messages and tools are made unique, because all runs of a stream share one space.
 */
export function encodeNative(event: SubagentEvent): AguiEvent {
  const subagentRunId = event.delegationId;
  const own = (id: string) => `${subagentRunId}/${id}`;
  switch (event.type) {
    case "subagent.started": {
      const { agentKey: name, agentName: description, parentToolCallId } = event;
      // `null` is fatal for an optional field here, so an unknown call is left out.
      const parent = parentToolCallId === undefined ? {} : { parentToolCallId };
      return { type: "SUBAGENT_STARTED", subagentRunId, name, description, ...parent };
    }
    case "subagent.text.start":
      return {
        type: "TEXT_MESSAGE_START",
        subagentRunId,
        messageId: own(event.messageId),
        role: "assistant",
      };
    case "subagent.text.delta":
      return {
        type: "TEXT_MESSAGE_CONTENT",
        subagentRunId,
        messageId: own(event.messageId),
        delta: event.delta,
      };
    case "subagent.text.end":
      return { type: "TEXT_MESSAGE_END", subagentRunId, messageId: own(event.messageId) };
    case "subagent.reasoning.start":
      return {
        type: "REASONING_MESSAGE_START",
        subagentRunId,
        messageId: own(event.messageId),
        role: "reasoning",
      };
    case "subagent.reasoning.delta":
      return {
        type: "REASONING_MESSAGE_CONTENT",
        subagentRunId,
        messageId: own(event.messageId),
        delta: event.delta,
      };
    case "subagent.reasoning.end":
      return { type: "REASONING_MESSAGE_END", subagentRunId, messageId: own(event.messageId) };
    case "subagent.tool.start":
      return {
        type: "TOOL_CALL_START",
        subagentRunId,
        toolCallId: own(event.toolCallId),
        toolCallName: event.name,
      };
    case "subagent.tool.args":
      return { type: "TOOL_CALL_ARGS", subagentRunId, toolCallId: own(event.toolCallId), delta: event.delta };
    case "subagent.tool.end":
      return { type: "TOOL_CALL_END", subagentRunId, toolCallId: own(event.toolCallId) };
    case "subagent.tool.result": {
      const { content, isError } = event;
      const toolCallId = own(event.toolCallId);
      return {
        type: "TOOL_CALL_RESULT",
        subagentRunId,
        messageId: `${toolCallId}-result`,
        toolCallId,
        content,
        role: "tool",
        metadata: { isError },
      };
    }
    case "subagent.resumed": {
      const { agentKey: name, agentName: description } = event;
      return { type: "SUBAGENT_STARTED", subagentRunId, name, description };
    }
    case "subagent.detached":
      return { type: "SUBAGENT_FINISHED", subagentRunId, outcome: { type: "suspended" } };
    case "subagent.finished":
      return { type: "SUBAGENT_FINISHED", subagentRunId, result: event.result };
    case "subagent.failed":
      return { type: "SUBAGENT_ERROR", subagentRunId, message: event.error.message, code: event.error.code };
    case "subagent.cancelled":
      // There is no cancelled outcome: 0.0.59 ends the whole run on one, 1.0 reads it as success.
      return {
        type: "SUBAGENT_ERROR",
        subagentRunId,
        message: `Cancelled: ${event.reason}`,
        code: "cancelled",
      };
    case "subagent.status":
    case "subagent.correlated":
    case "subagent.input_required":
    case "subagent.input_resolved":
    case "subagent.artifact": {
      const { type, ...value } = event;
      return { ...custom(type, value), subagentRunId };
    }
  }
}
