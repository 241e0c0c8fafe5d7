import type { DriverEvent, Nested, PlanStep } from "../../core/run-event.js";
import { asList, asNumber, asObject, asText, isObject, type JsonObject } from "../process/json.js";
import { type Block, BlockWriter } from "./block-stream.js";
import { mcpServerName, splitToolName } from "./tool-name.js";
import { toolResultText } from "./tool-result.js";

/** A message of the model whose blocks are being streamed, or were. */
interface StreamedMessage {
  readonly id: string;
  /** By the API's block index. */
  readonly blocks: Map<number, Block>;
}

/** Messages are written by the main agent and, side by side, by its native subagents. */
interface Lane {
  readonly nested: Nested;
  /** The message that is being streamed. */
  message?: StreamedMessage;
  /** The last streamed messages by id, this one too: their `assistant` frames bring nothing new. */
  readonly streamed: Map<string, StreamedMessage>;
}

/** Streamed messages that are remembered; frames of older ones do not come any more. */
const KEPT_MESSAGES = 8;

/** Options of {@link EventMapper}. */
export interface EventMapperOptions {
  /** Names of the run's MCP servers, to split tool names at the right place. */
  readonly servers: readonly string[];
  /** What the ids of text and reasoning begin with; unique among all runs of a thread, which the API's own ids need not be. */
  readonly idPrefix: string;
  emit(event: DriverEvent): void;
}

/**
 * Turns the frames of Claude Code's stream into events. It holds no process and no clock, takes anything for a frame, never throws,
 * and keeps the grammar: every text, reasoning and tool call is started once and ended once, a result follows the end of its call.
 */
export class EventMapper {
  readonly #servers: readonly string[];
  readonly #emit: (event: DriverEvent) => void;
  readonly #writer: BlockWriter;
  readonly #lanes = new Map<string, Lane>();
  readonly #idPrefix: string;
  readonly #calls = new Set<string>();
  readonly #results = new Set<string>();
  readonly #complained = new Set<string>();
  #texts = 0;

  constructor(options: EventMapperOptions) {
    this.#servers = options.servers;
    this.#idPrefix = options.idPrefix;
    this.#emit = options.emit;
    this.#writer = new BlockWriter(options.emit);
  }

  /** Takes one frame. Frames that carry nothing to show are ignored. */
  frame(value: unknown): void {
    const frame = asObject(value);
    if (frame.type === "stream_event") this.#streamEvent(this.#lane(frame), asObject(frame.event));
    else if (frame.type === "assistant") this.#assistant(this.#lane(frame), asObject(frame.message));
    else if (frame.type === "user") this.#user(asObject(frame.message));
    else if (frame.type === "system") this.#system(frame);
    // A result ends the turn, also one that was interrupted in the middle of a block.
    else if (frame.type === "result") this.#closeLane(this.#rootLane());
  }

  /** Nothing follows: ends what is open. */
  close(): void {
    for (const lane of this.#lanes.values()) this.#closeLane(lane);
  }

  #lane(frame: JsonObject): Lane {
    const parent = asText(frame.parent_tool_use_id);
    if (parent === undefined) return this.#rootLane();
    // Several subagents may run below one call, each with an id of its own.
    const key = `${parent} ${asText(frame.agent_id) ?? ""}`;
    return this.#laneOf(key, { parentToolCallId: parent });
  }

  #rootLane(): Lane {
    return this.#laneOf("", {});
  }

  #laneOf(key: string, nested: Nested): Lane {
    let lane = this.#lanes.get(key);
    if (!lane) {
      lane = { nested, streamed: new Map() };
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  #closeLane(lane: Lane): void {
    for (const block of lane.message?.blocks.values() ?? []) this.#writer.close(block, lane.nested);
  }

  #streamEvent(lane: Lane, event: JsonObject): void {
    if (event.type === "message_start") {
      this.#startMessage(lane, asText(asObject(event.message).id) ?? "message");
      return;
    }
    const index = asNumber(event.index);
    if (event.type === "message_stop") this.#closeLane(lane);
    else if (index === undefined) return;
    else if (event.type === "content_block_start")
      this.#startBlock(lane, index, asObject(event.content_block));
    else if (event.type === "content_block_delta") this.#delta(lane, index, asObject(event.delta));
    else if (event.type === "content_block_stop") {
      const block = lane.message?.blocks.get(index);
      if (block) this.#writer.close(block, lane.nested);
    }
  }

  #startMessage(lane: Lane, id: string): void {
    this.#abandon(lane);
    lane.message = { id, blocks: new Map() };
    lane.streamed.delete(id);
    lane.streamed.set(id, lane.message);
    for (const old of [...lane.streamed.keys()].slice(0, -KEPT_MESSAGES)) lane.streamed.delete(old);
  }

  /** A message that was never ended is being replaced: the stream broke, and the request was sent again. */
  #abandon(lane: Lane): void {
    const cut = [...(lane.message?.blocks.values() ?? [])].filter((block) => block.open && block.started);
    if (cut.length === 0) return;
    this.#closeLane(lane);
    for (const { kind, id } of cut) {
      if (kind === "tool") this.#result(id, "The model's answer broke off before this call was made.", true);
    }
    this.#emit({
      type: "notice",
      level: "warning",
      code: "message_restarted",
      message: "The model's answer broke off and was asked for again; its first part stays visible.",
    });
  }

  #startBlock(lane: Lane, index: number, content: JsonObject): void {
    if (!lane.message) this.#startMessage(lane, "message");
    const blocks = lane.message?.blocks ?? new Map<number, Block>();
    const before = blocks.get(index);
    if (before) this.#writer.close(before, lane.nested);
    const block = this.#openBlock(lane, content);
    if (block) blocks.set(index, block);
    else blocks.delete(index);
  }

  /** Makes the block of `content` and emits what its start already says; `undefined` for what is not shown. */
  #openBlock(lane: Lane, content: JsonObject): Block | undefined {
    const fresh = { sent: "", started: false, open: true, framed: false };
    if (content.type === "text" || content.type === "thinking") {
      const kind = content.type === "text" ? "text" : "reasoning";
      const block: Block = { ...fresh, kind, id: `${this.#idPrefix}-${++this.#texts}` };
      this.#writer.add(block, asText(content[content.type]) ?? "", lane.nested);
      return block;
    }
    const callId = asText(content.id);
    if (content.type !== "tool_use" || callId === undefined || this.#calls.has(callId)) return undefined;
    this.#calls.add(callId);
    const input =
      isObject(content.input) && Object.keys(content.input).length > 0 ? content.input : undefined;
    const block: Block = { ...fresh, kind: "tool", id: callId, ...(input && { input }) };
    const name = asText(content.name) ?? "unknown";
    this.#writer.openTool(block, { name, ...splitToolName(name, this.#servers) }, lane.nested);
    return block;
  }

  #delta(lane: Lane, index: number, delta: JsonObject): void {
    const block = lane.message?.blocks.get(index);
    if (!block) return;
    const piece =
      block.kind === "text" && delta.type === "text_delta"
        ? asText(delta.text)
        : block.kind === "reasoning" && delta.type === "thinking_delta"
          ? asText(delta.thinking)
          : block.kind === "tool" && delta.type === "input_json_delta"
            ? asText(delta.partial_json)
            : undefined;
    if (piece !== undefined) this.#writer.add(block, piece, lane.nested);
  }

  /** One frame per content block, just before the block's end; or, without a stream before it, the only word of it. */
  #assistant(lane: Lane, message: JsonObject): void {
    const streamed = lane.streamed.get(asText(message.id) ?? "message");
    if (!streamed) this.#abandon(lane);
    for (const value of asList(message.content)) {
      const content = asObject(value);
      this.#plan(lane, content);
      if (streamed && this.#frameOfStreamed(streamed, content, lane.nested)) continue;
      const block = this.#openBlock(lane, content);
      if (block) this.#writer.close(block, lane.nested);
    }
  }

  /** Adds what the stream has not brought of a block yet. @returns whether the block was streamed at all. */
  #frameOfStreamed(message: StreamedMessage, content: JsonObject, nested: Nested): boolean {
    const blocks = [...message.blocks.values()];
    if (content.type === "text" || content.type === "thinking") {
      const kind = content.type === "text" ? "text" : "reasoning";
      const block = blocks.find((one) => one.kind === kind && !one.framed);
      if (!block) return false;
      block.framed = true;
      const text = asText(content[content.type]) ?? "";
      if (text.startsWith(block.sent)) this.#writer.add(block, text.slice(block.sent.length), nested);
      return true;
    }
    const block = blocks.find((one) => one.kind === "tool" && one.id === content.id);
    if (block?.sent === "") this.#writer.add(block, JSON.stringify(content.input ?? {}), nested);
    return block !== undefined;
  }

  #user(message: JsonObject): void {
    for (const value of asList(message.content)) {
      const content = asObject(value);
      const callId = asText(content.tool_use_id);
      if (content.type !== "tool_result" || callId === undefined) continue;
      // A resumed session may close calls of an earlier run; nobody saw them start.
      if (!this.#calls.has(callId)) continue;
      this.#result(callId, toolResultText(content.content), content.is_error === true);
    }
  }

  #result(toolCallId: string, content: string, isError: boolean): void {
    if (this.#results.has(toolCallId)) return;
    this.#results.add(toolCallId);
    // Tools start while the message is still being written, so a quick one answers before its block's end.
    this.#writer.closeTool(toolCallId);
    this.#emit({ type: "tool.result", toolCallId, content, isError });
  }

  #plan(lane: Lane, content: JsonObject): void {
    if (content.type !== "tool_use" || content.name !== "TodoWrite" || lane.nested.parentToolCallId) return;
    const steps = asList(asObject(content.input).todos).flatMap((value): PlanStep[] => {
      const { content: step, status } = asObject(value);
      const text = asText(step);
      if (text === undefined) return [];
      return [{ text, status: status === "in_progress" || status === "completed" ? status : "pending" }];
    });
    if (steps.length > 0) this.#emit({ type: "plan.updated", steps });
  }

  #system(frame: JsonObject): void {
    if (frame.subtype === "api_retry") {
      const status = asNumber(frame.error_status) ?? asText(frame.error) ?? "no connection";
      const seconds = Math.round((asNumber(frame.retry_delay_ms) ?? 0) / 100) / 10;
      const attempt = `${asNumber(frame.attempt) ?? "?"} of ${asNumber(frame.max_retries) ?? "?"}`;
      const message = `The model's API failed (${status}); attempt ${attempt} follows in ${seconds} s.`;
      this.#emit({ type: "notice", level: "warning", code: "api_retry", message });
    } else if (frame.subtype === "compact_boundary") {
      const message = "Claude Code summarised the conversation to make room.";
      this.#emit({ type: "notice", level: "info", code: "context_compacted", message });
    } else if (frame.subtype === "init") {
      for (const value of asList(frame.mcp_servers)) this.#serverStatus(asObject(value));
    }
  }

  /** Init is repeated at every turn; a server that could not be reached is told once. */
  #serverStatus(server: JsonObject): void {
    const name = asText(server.name);
    if (name === undefined || (server.status !== "failed" && server.status !== "needs-auth")) return;
    if (this.#complained.has(name)) return;
    this.#complained.add(name);
    const configured = this.#servers.find((one) => mcpServerName(one) === name) ?? name;
    const message = `Claude Code could not use the MCP server ${configured} (${server.status}); its tools are missing.`;
    this.#emit({ type: "notice", level: "warning", code: "mcp_server_failed", message });
  }
}
