import type { DriverEvent, Nested, RunEvent } from "./run-event.js";

/**
 * Keeps a run's events well formed whatever a driver emits: nothing opens twice, nothing goes on that is not open, and what is
 * still open at the end is closed by events of its own.
 */
export class RunGrammar {
  readonly #texts = new Map<string, { readonly kind: "text" | "reasoning" } & Nested>();
  readonly #tools = new Map<string, "arguments" | "running">();
  /** Calls that have their result. Their ids stay known so that a repeated result is dropped. */
  readonly #done = new Set<string>();

  /** Whether `event` may be emitted now; records it if so. */
  accept(event: DriverEvent): boolean {
    switch (event.type) {
      case "text.start":
      case "reasoning.start": {
        const kind = event.type === "text.start" ? "text" : "reasoning";
        if (this.#texts.has(event.messageId)) return false;
        this.#texts.set(event.messageId, { kind, ...nested(event) });
        return true;
      }
      case "text.delta":
      case "text.end":
      case "reasoning.delta":
      case "reasoning.end": {
        const [kind, part] = event.type.split(".");
        if (this.#texts.get(event.messageId)?.kind !== kind) return false;
        if (part === "end") this.#texts.delete(event.messageId);
        return true;
      }
      case "tool.start":
        if (this.#tools.has(event.toolCallId) || this.#done.has(event.toolCallId)) return false;
        this.#tools.set(event.toolCallId, "arguments");
        return true;
      case "tool.args":
        return this.#tools.get(event.toolCallId) === "arguments";
      case "tool.end":
        if (this.#tools.get(event.toolCallId) !== "arguments") return false;
        this.#tools.set(event.toolCallId, "running");
        return true;
      case "tool.result":
        if (this.#tools.get(event.toolCallId) !== "running") return false;
        this.#tools.delete(event.toolCallId);
        this.#done.add(event.toolCallId);
        return true;
      default:
        return true;
    }
  }

  /** Events that close what is open, inner texts first. */
  close(): RunEvent[] {
    const events: RunEvent[] = [];
    for (const [messageId, { kind, ...rest }] of this.#texts)
      events.push({ type: `${kind}.end`, messageId, ...rest });
    for (const [toolCallId, state] of this.#tools) {
      if (state === "arguments") events.push({ type: "tool.end", toolCallId });
      events.push({
        type: "tool.result",
        toolCallId,
        content: "The run ended before this call had a result.",
        isError: true,
        synthetic: true,
      });
    }
    this.#texts.clear();
    this.#tools.clear();
    return events;
  }
}

function nested(event: Nested): Nested {
  return event.parentToolCallId === undefined ? {} : { parentToolCallId: event.parentToolCallId };
}
