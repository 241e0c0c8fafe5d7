import type { SubagentEvent } from "../../delegation/events.js";
import type { AguiEvent } from "./event.js";

/** `activityType` of the messages, one for each delegation. */
export const ACTIVITY_TYPE = "subagent";

/**
 * Subagent events as one AG-UI activity message each: a snapshot at the start, then JSON patches. Patches only add, so that what goes
 * over the wire grows with what is said and not with its square: RFC 6902 cannot append to a string, so words are a list of pieces.
 */
export function encodeActivity(event: SubagentEvent): AguiEvent {
  switch (event.type) {
    case "subagent.started": {
      const { type: _type, audit: _audit, ...told } = event;
      const content = { ...told, state: "working", said: [], tools: {}, results: {}, artifacts: {} };
      return { type: "ACTIVITY_SNAPSHOT", ...messageOf(event), content, replace: false };
    }
    case "subagent.status":
      return patch(event, set("status", event.status), set("message", event.message ?? ""));
    case "subagent.correlated":
      return patch(event, set("parentToolCallId", event.parentToolCallId ?? ""));
    case "subagent.text.delta":
      return patch(event, add("/said/-", { kind: "text", id: event.messageId, delta: event.delta }));
    case "subagent.reasoning.delta":
      return patch(event, add("/said/-", { kind: "reasoning", id: event.messageId, delta: event.delta }));
    case "subagent.tool.start":
      return patch(event, add(`/tools/${escaped(event.toolCallId)}`, { name: event.name }));
    case "subagent.tool.args":
      return patch(event, add("/said/-", { kind: "tool", id: event.toolCallId, delta: event.delta }));
    case "subagent.tool.result": {
      const { content, isError } = event;
      return patch(event, add(`/results/${escaped(event.toolCallId)}`, { content, isError }));
    }
    case "subagent.input_required": {
      const { prompt, schema } = event;
      return patch(
        event,
        set("state", "needs_you"),
        set("question", schema === undefined ? { prompt } : { prompt, schema }),
      );
    }
    case "subagent.input_resolved":
      return patch(event, set("state", "working"), set("question", null));
    case "subagent.artifact": {
      const { artifact, error } = event;
      const told = error === undefined ? artifact : { ...artifact, error };
      return patch(event, add(`/artifacts/${escaped(artifact.id)}`, told));
    }
    case "subagent.detached":
      return patch(event, set("detached", true));
    case "subagent.finished":
      return patch(event, set("state", "done"), set("result", event.result), set("sizes", event.sizes));
    case "subagent.failed":
      return patch(event, set("state", "failed"), set("error", event.error), set("result", event.result));
    case "subagent.cancelled":
      return patch(event, set("state", "stopped"), set("reason", event.reason), set("result", event.result));
    case "subagent.text.start":
    case "subagent.text.end":
    case "subagent.reasoning.start":
    case "subagent.reasoning.end":
    case "subagent.tool.end":
    case "subagent.resumed":
      // Nothing changes by it; the frame is there for its cursor.
      return patch(event);
  }
}

interface Operation {
  readonly op: "add";
  readonly path: string;
  readonly value: unknown;
}

/** RFC 6902, 4.1: `add` to a member that exists replaces it. */
function add(path: string, value: unknown): Operation {
  return { op: "add", path, value };
}

function set(name: string, value: unknown): Operation {
  return add(`/${name}`, value);
}

/** RFC 6901, 3. */
function escaped(id: string): string {
  return id.replaceAll("~", "~0").replaceAll("/", "~1");
}

function messageOf({ delegationId }: SubagentEvent) {
  return { messageId: `subagent-${delegationId}`, activityType: ACTIVITY_TYPE };
}

function patch(event: SubagentEvent, ...operations: readonly Operation[]): AguiEvent {
  return { type: "ACTIVITY_DELTA", ...messageOf(event), patch: operations };
}
