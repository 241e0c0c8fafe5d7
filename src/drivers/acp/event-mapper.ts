import type { McpServer } from "../../core/mcp-server.js";
import type { DriverEvent, PlanStep, Usage } from "../../core/run-event.js";
import { startOf } from "../../core/text.js";
import { asList, asNumber, asObject, asText, type JsonObject } from "../process/json.js";
import { blockText, mergeFacts, resultText, type ToolFacts, type ToolView, viewTool } from "./tool-call.js";

/** Characters of the agent's own words in a notice. */
const WORDS = 1_000;

interface OpenCall {
  facts: ToolFacts;
  /** The arguments were emitted. */
  told: boolean;
}

/** Options of {@link EventMapper}. */
export interface EventMapperOptions {
  /** What the ids of text and reasoning begin with; unique among all runs of a thread. */
  readonly idPrefix: string;
  readonly servers: readonly McpServer[];
  emit(event: DriverEvent): void;
}

/**
 * Turns the updates of one session into events. It holds no process and no clock, takes anything, never throws, and keeps the
 * grammar: every text, reasoning and tool call is started once and ended once.
 */
export class EventMapper {
  /** The agent's own name, once it is known. */
  agent = "";
  readonly #emit: (event: DriverEvent) => void;
  readonly #idPrefix: string;
  readonly #servers: readonly McpServer[];
  readonly #calls = new Map<string, OpenCall>();
  readonly #done = new Set<string>();
  #open:
    | { readonly kind: "text" | "reasoning"; readonly messageId: string; readonly own: unknown }
    | undefined;
  #count = 0;
  #usage: Usage = {};

  constructor(options: EventMapperOptions) {
    this.#emit = options.emit;
    this.#idPrefix = options.idPrefix;
    this.#servers = options.servers;
  }

  /** Takes the `update` of a `session/update`. Those that carry nothing to show are ignored. */
  update(update: JsonObject): void {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.#chunk("text", update);
      case "agent_thought_chunk":
        return this.#chunk("reasoning", update);
      case "tool_call":
      case "tool_call_update":
        this.#tool(update);
        return;
      case "plan":
        return this.#plan(asList(update.entries));
      case "usage_update": {
        const { amount, currency } = asObject(update.cost);
        const cost = asNumber(amount);
        if (cost !== undefined && currency === "USD") this.#spend({ cost });
        return;
      }
      case "notice":
        return this.#notice(update);
      case "compaction_update": {
        const message = "The agent summarised the conversation to make room.";
        if (update.status === "completed")
          this.#emit({ type: "notice", level: "info", code: "context_compacted", message });
      }
    }
  }

  /** Takes the call that a permission is asked for; it may be shown by that for the first time. */
  asked(toolCall: JsonObject): ToolView & { readonly toolCallId: string | undefined } {
    const toolCallId = asText(toolCall.toolCallId);
    const facts = this.#tool(toolCall) ?? mergeFacts(undefined, toolCall);
    const view = viewTool(facts, this.agent, this.#servers);
    const open = toolCallId === undefined ? undefined : this.#calls.get(toolCallId);
    if (toolCallId !== undefined && open) this.#tell(toolCallId, open, view);
    return { ...view, toolCallId: open === undefined ? undefined : toolCallId };
  }

  /** Takes the answer to the prompt: what it used. */
  answered(result: JsonObject): void {
    const usage = asObject(result.usage);
    // Gemini CLI has it in a place of its own.
    const quota = asObject(asObject(asObject(result._meta).quota).token_count);
    const inputTokens = asNumber(usage.inputTokens) ?? asNumber(quota.input_tokens);
    const outputTokens = asNumber(usage.outputTokens) ?? asNumber(quota.output_tokens);
    const cachedInputTokens = asNumber(usage.cachedReadTokens);
    this.#spend({
      ...(inputTokens !== undefined && { inputTokens }),
      ...(outputTokens !== undefined && { outputTokens }),
      ...(cachedInputTokens !== undefined && { cachedInputTokens }),
    });
    this.#endText();
  }

  /** The program is gone: texts are ended. Calls stay open, and the run closes them. */
  close(): void {
    this.#endText();
  }

  #chunk(kind: "text" | "reasoning", update: JsonObject): void {
    const delta = blockText(asObject(update.content));
    if (delta === "") return;
    const own = update.messageId ?? undefined;
    if (this.#open?.kind !== kind || this.#open.own !== own) this.#endText();
    if (this.#open === undefined) {
      this.#open = { kind, messageId: `${this.#idPrefix}-${++this.#count}`, own };
      this.#emit({ type: `${kind}.start`, messageId: this.#open.messageId });
    }
    this.#emit({ type: `${kind}.delta`, messageId: this.#open.messageId, delta });
  }

  #endText(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open) this.#emit({ type: `${open.kind}.end`, messageId: open.messageId });
  }

  /** @returns what is known of the call now; `undefined` when it has no id, or is over. */
  #tool(update: JsonObject): ToolFacts | undefined {
    const id = asText(update.toolCallId);
    if (id === undefined || this.#done.has(id)) return undefined;
    const facts = mergeFacts(this.#calls.get(id)?.facts, update);
    const view = viewTool(facts, this.agent, this.#servers);
    let call = this.#calls.get(id);
    if (call) call.facts = facts;
    else {
      this.#endText();
      call = { facts, told: false };
      this.#calls.set(id, call);
      const { name, server, tool } = view;
      const names = server !== undefined && tool !== undefined ? { name, server, tool } : { name };
      this.#emit({ type: "tool.start", toolCallId: id, ...names });
    }
    const over = facts.status === "completed" || facts.status === "failed";
    // Some agents tell the arguments only when the call works, and some never do.
    if (view.complete || over || facts.status === "in_progress") this.#tell(id, call, view);
    if (over) {
      this.#calls.delete(id);
      this.#done.add(id);
      const isError = facts.status === "failed";
      this.#emit({ type: "tool.result", toolCallId: id, content: resultText(facts), isError });
    }
    return facts;
  }

  #tell(toolCallId: string, call: OpenCall, { input }: ToolView): void {
    if (call.told) return;
    call.told = true;
    this.#emit({ type: "tool.args", toolCallId, delta: JSON.stringify(input) ?? "{}" });
    this.#emit({ type: "tool.end", toolCallId });
  }

  #plan(entries: readonly unknown[]): void {
    const steps = entries.flatMap((value): PlanStep[] => {
      const { content, status } = asObject(value);
      const text = asText(content);
      if (text === undefined) return [];
      return [{ text, status: status === "in_progress" || status === "completed" ? status : "pending" }];
    });
    if (steps.length > 0) this.#emit({ type: "plan.updated", steps });
  }

  #notice(update: JsonObject): void {
    const words = [update.title, update.description].flatMap((text) => asText(text) ?? []);
    if (words.length === 0) return;
    const level = update.severity === "info" ? "info" : "warning";
    this.#emit({ type: "notice", level, code: "agent_notice", message: startOf(words.join(": "), WORDS) });
  }

  #spend(usage: Usage): void {
    if (Object.keys(usage).length === 0) return;
    this.#usage = { ...this.#usage, ...usage };
    this.#emit({ type: "usage", usage: this.#usage });
  }
}
