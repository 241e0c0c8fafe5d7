import type { DriverEvent, Usage } from "../../core/run-event.js";
import { startOf } from "../../core/text.js";
import { asList, asNumber, asObject, asText, type JsonObject } from "../process/json.js";
import { readResult, readTool } from "./tool-call.js";

/** Options of {@link EventMapper}. */
export interface EventMapperOptions {
  /** What the ids of text and reasoning begin with; unique among all runs of a thread. */
  readonly idPrefix: string;
  /** Names of the run's MCP servers. */
  readonly servers: readonly string[];
  emit(event: DriverEvent): void;
}

/** Characters of the program's own words in a notice. */
const WORDS = 1_000;

/**
 * Turns the lines of one run into events. It holds no process and no clock, takes anything, never throws, and keeps the grammar:
 * every text, reasoning and tool call is started once and ended once.
 */
export class EventMapper {
  readonly #options: EventMapperOptions;
  readonly #tools = new Map<string, "working" | "done">();
  #open: { readonly kind: "text" | "reasoning"; readonly messageId: string } | undefined;
  /** What the open or last text has said. */
  #message = "";
  /** All that was said. */
  #whole = "";
  /** Text came in pieces, so a complete one repeats them. */
  #inPieces = false;
  #count = 0;

  constructor(options: EventMapperOptions) {
    this.#options = options;
  }

  /** Takes one line. Those that carry nothing to show are ignored. */
  event(event: JsonObject): void {
    switch (event.type) {
      case "assistant":
        return this.#assistant(event);
      case "thinking":
        if (event.subtype === "completed") return this.#end();
        return this.#write("reasoning", asText(event.text) ?? "");
      case "tool_call":
        return this.#tool(event);
      case "retry":
        if (event.subtype !== "starting") return;
        return this.#notice("api_retry", "The connection to Cursor broke off and is made again.");
      case "result":
        this.#end();
        return this.#usage(asObject(event.usage));
    }
  }

  /** The program is gone: texts are ended. Calls stay open, and the run closes them. */
  close(): void {
    this.#end();
  }

  /**
   * Text comes in several shapes: pieces as they are written (with a time), the message again before a tool call (with a time and the
   * id of the request), and all of it at the end (with neither). Without partial output there is only the last.
   */
  #assistant(event: JsonObject): void {
    const text = asList(asObject(event.message).content)
      .map((block) => asText(asObject(block).text) ?? "")
      .join("");
    if (text === "") return;
    const repeats = asText(event.model_call_id) !== undefined || event.timestamp_ms === undefined;
    if (!repeats) {
      this.#inPieces = true;
      return this.#write("text", text);
    }
    // A message that was interrupted by a tool is over; what repeats it belongs to it.
    const known = [this.#message, this.#whole].find((said) => said !== "" && text.startsWith(said));
    if (known !== undefined) this.#write("text", text.slice(known.length));
    else if (!this.#inPieces || this.#message === "") this.#write("text", text);
    this.#end();
  }

  #write(kind: "text" | "reasoning", delta: string): void {
    if (delta === "") return;
    if (this.#open?.kind !== kind) this.#end();
    if (this.#open === undefined) {
      this.#open = { kind, messageId: `${this.#options.idPrefix}-${++this.#count}` };
      this.#options.emit({ type: `${kind}.start`, messageId: this.#open.messageId });
      if (kind === "text") this.#message = "";
    }
    if (kind === "text") {
      this.#message += delta;
      this.#whole += delta;
    }
    this.#options.emit({ type: `${kind}.delta`, messageId: this.#open.messageId, delta });
  }

  #end(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open) this.#options.emit({ type: `${open.kind}.end`, messageId: open.messageId });
  }

  #tool(event: JsonObject): void {
    const toolCallId = asText(event.call_id);
    if (toolCallId === undefined) return;
    const state = this.#tools.get(toolCallId);
    if (state === "done") return;
    const call = readTool(event.tool_call, this.#options.servers);
    const { emit } = this.#options;
    if (state === undefined) {
      this.#end();
      this.#message = "";
      this.#tools.set(toolCallId, "working");
      const { name, server, tool, input } = call;
      const names = server !== undefined && tool !== undefined ? { name, server, tool } : { name };
      emit({ type: "tool.start", toolCallId, ...names });
      emit({ type: "tool.args", toolCallId, delta: JSON.stringify(input) ?? "{}" });
      emit({ type: "tool.end", toolCallId });
    }
    if (event.subtype !== "completed") return;
    this.#tools.set(toolCallId, "done");
    emit({ type: "tool.result", toolCallId, ...readResult(call) });
  }

  #usage(counts: JsonObject): void {
    const fields = {
      inputTokens: asNumber(counts.inputTokens),
      outputTokens: asNumber(counts.outputTokens),
      cachedInputTokens: asNumber(counts.cacheReadTokens),
    };
    const usage: Usage = Object.fromEntries(
      Object.entries(fields).filter(([, count]) => count !== undefined),
    );
    if (Object.keys(usage).length > 0) this.#options.emit({ type: "usage", usage });
  }

  #notice(code: string, message: string): void {
    this.#options.emit({ type: "notice", level: "warning", code, message: startOf(message, WORDS) });
  }
}
