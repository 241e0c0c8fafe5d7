import { isDeepStrictEqual } from "node:util";
import type { DriverEvent, PlanStep } from "../../core/run-event.js";
import { asList, asNumber, asObject, asText, type JsonObject } from "../process/json.js";
import { TextTail } from "../process/text-tail.js";
import { noticeOf } from "./notice.js";
import type { KnownCalls } from "./question.js";
import { type ToolItem, toolItem, toolOutcome } from "./tool-item.js";
import { UsageMeter } from "./usage.js";

/** Characters of a command's output that are kept for the case that it never completes. */
const OUTPUT_CHARACTERS = 100_000;

interface OpenText {
  readonly kind: "text" | "reasoning";
  readonly messageId: string;
  sent: string;
  /** The part of a reasoning's summary that is being written. */
  part: number;
  /** Which of the two streams of a reasoning counts: its summary, or its raw text where there is no summary. */
  stream?: "summary" | "raw";
}

interface OpenCall {
  readonly item: JsonObject;
  readonly tool: ToolItem;
  readonly output: TextTail;
}

/** Options of {@link EventMapper}. */
export interface EventMapperOptions {
  /** What the ids of text and reasoning begin with; unique among all runs of a thread. */
  readonly idPrefix: string;
  emit(event: DriverEvent): void;
}

/**
 * Turns the notifications of one run into events. It holds no process and no clock, takes anything, never throws, and keeps the
 * grammar: every text, reasoning and tool call is started once and ended once.
 */
export class EventMapper implements KnownCalls {
  readonly #emit: (event: DriverEvent) => void;
  readonly #idPrefix: string;
  readonly #texts = new Map<string, OpenText>();
  readonly #calls = new Map<string, OpenCall>();
  readonly #done = new Set<string>();
  readonly #usage = new UsageMeter();
  readonly #complained = new Set<string>();
  #count = 0;
  #lastText: string | undefined;

  constructor(options: EventMapperOptions) {
    this.#emit = options.emit;
    this.#idPrefix = options.idPrefix;
  }

  /** The agent's last message that is complete. */
  get lastText(): string | undefined {
    return this.#lastText;
  }

  /** Calls of this kind that have no result yet. */
  open(type: "mcpToolCall" | "commandExecution"): readonly string[] {
    return [...this.#calls].flatMap(([id, { item }]) => (item.type === type ? [id] : []));
  }

  /** The arguments of an open call, for a question about it. */
  inputOf(toolCallId: string): unknown {
    return this.#calls.get(toolCallId)?.tool.input;
  }

  /** The one open call of an MCP server with these arguments; `undefined` when there are none or several. */
  callOf(server: string, tool: string | undefined, input: unknown): ReturnType<KnownCalls["callOf"]> {
    const found = [...this.#calls].flatMap(([toolCallId, { tool: called }]) => {
      const { server: of, tool: name } = called;
      if (of !== server || name === undefined || (tool !== undefined && name !== tool)) return [];
      return isDeepStrictEqual(called.input, input) ? [{ toolCallId, tool: name }] : [];
    });
    return found.length === 1 ? found[0] : undefined;
  }

  /** Takes one notification. Those that carry nothing to show are ignored. */
  notification(method: string, params: JsonObject): void {
    switch (method) {
      case "item/started":
        return this.#started(asObject(params.item));
      case "item/completed":
        return this.#completed(asObject(params.item));
      case "item/agentMessage/delta":
        return this.#delta("text", params);
      case "item/reasoning/summaryTextDelta":
        return this.#reasoning("summary", asNumber(params.summaryIndex) ?? 0, params);
      case "item/reasoning/textDelta":
        return this.#reasoning("raw", asNumber(params.contentIndex) ?? 0, params);
      case "item/commandExecution/outputDelta":
        this.#calls.get(asText(params.itemId) ?? "")?.output.push(asText(params.delta) ?? "");
        return;
      case "turn/plan/updated":
        return this.#plan(asList(params.plan));
      case "thread/tokenUsage/updated":
        return this.#emit({ type: "usage", usage: this.#usage.update(asObject(params.tokenUsage)) });
      case "error":
        if (params.willRetry === true) this.#breakOff();
        return this.#notice(method, params);
      default:
        return this.#notice(method, params);
    }
  }

  /**
   * Nothing follows: ends what is open. A call of an MCP tool stays open, so that the end of what it started is told before it; the
   * run closes it.
   */
  close(): void {
    for (const id of [...this.#texts.keys()]) this.#endText(id);
    for (const [id, { item, tool, output }] of [...this.#calls]) {
      if (item.type === "mcpToolCall") continue;
      if (tool.lateInput) this.#arguments(id, tool.input);
      const words = output.toString();
      const content = `${words}${words === "" ? "" : "\n"}The run ended before this call did.`;
      this.#calls.delete(id);
      this.#emit({ type: "tool.result", toolCallId: id, content, isError: true, synthetic: true });
    }
  }

  #started(item: JsonObject): void {
    const id = asText(item.id);
    if (id === undefined || this.#done.has(id) || this.#calls.has(id)) return;
    const tool = toolItem(item);
    if (!tool) return;
    const { name, server, tool: mcpTool } = tool;
    const names = server !== undefined && mcpTool !== undefined ? { name, server, tool: mcpTool } : { name };
    this.#calls.set(id, { item, tool, output: new TextTail(OUTPUT_CHARACTERS) });
    this.#emit({ type: "tool.start", toolCallId: id, ...names });
    if (!tool.lateInput) this.#arguments(id, tool.input);
  }

  #arguments(id: string, input: unknown): void {
    this.#emit({ type: "tool.args", toolCallId: id, delta: JSON.stringify(input) ?? "{}" });
    this.#emit({ type: "tool.end", toolCallId: id });
  }

  #completed(item: JsonObject): void {
    const id = asText(item.id);
    if (id === undefined || this.#done.has(id)) return;
    if (item.type === "agentMessage") {
      this.#lastText = asText(item.text) ?? this.#lastText;
      this.#finishText("text", id, asText(item.text) ?? "");
    } else if (item.type === "reasoning") this.#finishReasoning(id, item);
    else if (item.type === "contextCompaction") {
      const message = "Codex summarised the conversation to make room.";
      this.#emit({ type: "notice", level: "info", code: "context_compacted", message });
    } else this.#finishCall(id, item);
  }

  #finishCall(id: string, item: JsonObject): void {
    this.#started(item);
    const call = this.#calls.get(id);
    if (!call) return;
    this.#calls.delete(id);
    this.#done.add(id);
    if (call.tool.lateInput) this.#arguments(id, toolItem(item)?.input);
    const outcome = toolOutcome(item, call.output.toString());
    this.#emit({ type: "tool.result", toolCallId: id, ...outcome });
  }

  #delta(kind: OpenText["kind"], params: JsonObject): void {
    const id = asText(params.itemId);
    const delta = asText(params.delta);
    if (id === undefined || delta === undefined || this.#done.has(id)) return;
    this.#write(this.#text(kind, id), delta);
  }

  #reasoning(stream: "summary" | "raw", part: number, params: JsonObject): void {
    const id = asText(params.itemId);
    if (id === undefined || asText(params.delta) === undefined || this.#done.has(id)) return;
    const text = this.#text("reasoning", id);
    text.stream ??= stream;
    if (text.stream !== stream) return;
    if (part !== text.part && text.sent !== "") this.#write(text, "\n\n");
    text.part = part;
    this.#delta("reasoning", params);
  }

  #text(kind: OpenText["kind"], id: string): OpenText {
    let text = this.#texts.get(id);
    if (!text) {
      text = { kind, messageId: `${this.#idPrefix}-${++this.#count}`, sent: "", part: 0 };
      this.#texts.set(id, text);
    }
    return text;
  }

  /** Text is started with its first character, so an empty one is not shown. */
  #write(text: OpenText, delta: string): void {
    if (delta === "") return;
    const { kind, messageId } = text;
    if (text.sent === "") this.#emit({ type: `${kind}.start`, messageId });
    text.sent += delta;
    this.#emit({ type: `${kind}.delta`, messageId, delta });
  }

  /** Adds what the deltas have not brought. */
  #finishText(kind: OpenText["kind"], id: string, whole: string): void {
    const text = this.#text(kind, id);
    if (whole.startsWith(text.sent)) this.#write(text, whole.slice(text.sent.length));
    this.#endText(id);
  }

  #finishReasoning(id: string, item: JsonObject): void {
    const parts = (value: unknown) => asList(value).flatMap((part) => asText(part) ?? []);
    const summary = parts(item.summary);
    const whole =
      this.#texts.get(id)?.stream === "raw" || summary.length === 0 ? parts(item.content) : summary;
    this.#finishText("reasoning", id, whole.join("\n\n"));
  }

  #endText(id: string): void {
    const text = this.#texts.get(id);
    if (!text) return;
    this.#texts.delete(id);
    this.#done.add(id);
    if (text.sent !== "") this.#emit({ type: `${text.kind}.end`, messageId: text.messageId });
  }

  /** The answer that was being written is asked for again, under other ids. */
  #breakOff(): void {
    const visible = [...this.#texts.values()].some((text) => text.sent !== "");
    for (const id of [...this.#texts.keys()]) this.#endText(id);
    if (!visible) return;
    const message = "The model's answer broke off and was asked for again; its first part stays visible.";
    this.#emit({ type: "notice", level: "warning", code: "message_restarted", message });
  }

  #plan(list: readonly unknown[]): void {
    const steps = list.flatMap((value): PlanStep[] => {
      const { step, status } = asObject(value);
      const text = asText(step);
      if (text === undefined) return [];
      if (status === "inProgress") return [{ text, status: "in_progress" }];
      return [{ text, status: status === "completed" ? "completed" : "pending" }];
    });
    if (steps.length > 0) this.#emit({ type: "plan.updated", steps });
  }

  /** The same trouble is told once, but for repeated requests. */
  #notice(method: string, params: JsonObject): void {
    const notice = noticeOf(method, params);
    if (!notice) return;
    const key = `${notice.code} ${notice.message}`;
    if (notice.code !== "api_retry" && this.#complained.has(key)) return;
    this.#complained.add(key);
    this.#emit(notice);
  }
}
