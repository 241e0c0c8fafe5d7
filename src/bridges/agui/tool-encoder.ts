import type { SubagentEvent } from "../../delegation/events.js";
import { type AguiEvent, custom } from "./event.js";

/**
 * Subagent events as one AG-UI tool call for each delegation, inside the message of the call that asked for it. Its arguments grow by
 * what happens, its result is the delegation's own.
 *
 * Every piece is a chunk: a client opens and closes the call around it as other frames come between, and puts pieces of one id
 * together. So a call is never left open, whenever the run ends, and one entry stays one frame. The price is that nothing closes the
 * list of what happened, because the last frame is the result: the arguments are JSON for parsers that read it as it grows.
 */
export function encodeTool(event: SubagentEvent): AguiEvent {
  switch (event.type) {
    case "subagent.started": {
      const { agentName, objective, parentToolCallId } = event;
      const opened = JSON.stringify({ agentName, objective, happened: [] }).slice(0, -"]}".length);
      // AG-UI's clients name the message of a call that has none after the call.
      const parent =
        parentToolCallId === undefined
          ? {}
          : { parentMessageId: parentToolCallId, metadata: { parentToolCallId } };
      // An element that says nothing, so that all others can begin with their comma.
      return { ...piece(event, `${opened}{}`), ...parent };
    }
    case "subagent.status": {
      const { status, message } = event;
      return happened(event, { status, message });
    }
    case "subagent.text.delta":
      return happened(event, { text: event.delta, id: event.messageId });
    case "subagent.reasoning.delta":
      return happened(event, { reasoning: event.delta, id: event.messageId });
    case "subagent.tool.start":
      return happened(event, { tool: event.name, id: event.toolCallId });
    case "subagent.tool.args":
      return happened(event, { args: event.delta, id: event.toolCallId });
    case "subagent.tool.result": {
      const { content: result, isError, toolCallId: id } = event;
      return happened(event, { result, isError, id });
    }
    case "subagent.input_required": {
      const { prompt, schema } = event;
      return happened(event, { asks: prompt, schema });
    }
    case "subagent.input_resolved":
      return happened(event, { answeredBy: event.by });
    case "subagent.artifact": {
      const { artifact, error } = event;
      return happened(event, { artifact, error });
    }
    case "subagent.correlated":
      return happened(event, { parentToolCallId: event.parentToolCallId });
    case "subagent.detached":
      return happened(event, { detached: true });
    case "subagent.finished":
      return result(event, false);
    case "subagent.failed":
    case "subagent.cancelled":
      return result(event, true);
    case "subagent.resumed":
    case "subagent.text.start":
    case "subagent.text.end":
    case "subagent.reasoning.start":
    case "subagent.reasoning.end":
    case "subagent.tool.end":
      // Nothing to show; the frame is there for its cursor.
      return custom(event.type, { delegationId: event.delegationId });
  }
}

function happened(event: SubagentEvent, what: object): AguiEvent {
  return piece(event, `,${JSON.stringify(what)}`);
}

function piece({ delegationId, agentKey }: SubagentEvent, delta: string): AguiEvent {
  return { type: "TOOL_CALL_CHUNK", toolCallId: delegationId, toolCallName: agentKey, delta };
}

function result(
  { delegationId, result }: Extract<SubagentEvent, { readonly result: unknown }>,
  isError: boolean,
): AguiEvent {
  return {
    type: "TOOL_CALL_RESULT",
    messageId: `${delegationId}-result`,
    toolCallId: delegationId,
    content: JSON.stringify(result),
    role: "tool",
    metadata: { isError },
  };
}
