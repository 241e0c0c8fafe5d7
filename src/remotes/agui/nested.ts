import type { RemoteSignal } from "../../delegation/remote.js";
import { capText, MAX_STATUS_TEXT, safeId } from "../http/words.js";
import { idIn, type Json, textIn } from "./json.js";
import type { Tools } from "./tools.js";

interface Subagent {
  readonly name: string;
  /** Set when it has a line of its own, rather than that of the call which started it. */
  readonly toolCallId?: string;
  /** The end of what it says. */
  text: string;
  over: boolean;
}

/** Characters of an agent's name. */
const MAX_NAME = 200;

/**
 * The agent's own subagents. What they say is never the agent's answer; they are shown as its tools: those which a call started
 * by statuses, the others by a line of their own, and their tools under their name.
 */
export class Subagents {
  readonly #subagents = new Map<string, Subagent>();

  constructor(private readonly tools: Tools) {}

  event(type: string, event: Json): RemoteSignal[] {
    const id = idIn(event, "subagentRunId");
    if (id === undefined) return [];
    switch (type) {
      case "SUBAGENT_STARTED":
        return this.#start(id, event);
      case "SUBAGENT_FINISHED": {
        const subagent = this.#subagents.get(id);
        return this.#end(id, textIn(event, "result") ?? subagent?.text ?? "", false);
      }
      default:
        return this.#end(id, textIn(event, "message") ?? "failed", true);
    }
  }

  /** An event that belongs to a subagent. */
  content(id: string, type: string, event: Json): RemoteSignal[] {
    const subagent = this.#subagents.get(id);
    const label = `${subagent?.name ?? "subagent"}: `;
    const toolCallId = idIn(event, "toolCallId");
    switch (type) {
      case "TEXT_MESSAGE_CONTENT":
      case "TEXT_MESSAGE_CHUNK": {
        const delta = textIn(event, "delta");
        if (subagent !== undefined && delta !== undefined)
          subagent.text = (subagent.text + delta).slice(-MAX_STATUS_TEXT);
        return [];
      }
      case "TOOL_CALL_START": {
        const name = idIn(event, "toolCallName");
        return toolCallId === undefined || name === undefined
          ? []
          : this.tools.start(toolCallId, name, label);
      }
      case "TOOL_CALL_ARGS":
        return toolCallId === undefined ? [] : this.tools.args(toolCallId, textIn(event, "delta") ?? "");
      case "TOOL_CALL_END":
        return toolCallId === undefined ? [] : this.tools.end(toolCallId);
      case "TOOL_CALL_CHUNK":
        return this.tools.chunk(event, label);
      case "TOOL_CALL_RESULT":
        return toolCallId === undefined || !this.tools.knows(toolCallId)
          ? []
          : this.tools.result(toolCallId, event);
      case "CUSTOM": {
        const { value } = event;
        const said =
          typeof value === "object" && value !== null ? textIn(value as Json, "message") : undefined;
        return event.name === "subagent.status" && said !== undefined ? [status(label + said)] : [];
      }
      default:
        return [];
    }
  }

  #start(id: string, event: Json): RemoteSignal[] {
    const known = this.#subagents.get(id);
    if (known !== undefined && !known.over) return [];
    const name = capText(idIn(event, "name") ?? "subagent", MAX_NAME);
    const parent = idIn(event, "parentToolCallId");
    if (parent !== undefined && this.tools.knows(parent)) {
      this.#subagents.set(id, { name, text: "", over: false });
      return [status(`${name}: started`)];
    }
    const toolCallId = known?.toolCallId ?? `subagent-${safeId(id)}`;
    this.#subagents.set(id, { name, toolCallId, text: "", over: false });
    return [
      { type: "tool.start", toolCallId, name },
      { type: "tool.end", toolCallId },
    ];
  }

  #end(id: string, words: string, isError: boolean): RemoteSignal[] {
    const subagent = this.#subagents.get(id);
    if (subagent === undefined || subagent.over) return [];
    subagent.over = true;
    const { name, toolCallId } = subagent;
    const content = capText(words, MAX_STATUS_TEXT);
    if (toolCallId !== undefined) return [{ type: "tool.result", toolCallId, content, isError }];
    return [status(`${name}: ${isError ? content : "done"}`)];
  }
}

function status(message: string): RemoteSignal {
  return { type: "status", status: "working", message: capText(message, MAX_STATUS_TEXT) };
}
