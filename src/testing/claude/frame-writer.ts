import { randomUUID } from "node:crypto";

/** A content block as the API has it. */
export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown };

/** Writes Claude Code's frames, in the order and with the fields that the program was measured to use. */
export class FrameWriter {
  readonly #session: string;
  readonly #model: string;
  #messages = 0;
  #message: { id: string; blocks: number; partial: string } | undefined;

  constructor(session: string, model: string) {
    this.#session = session;
    this.#model = model;
  }

  /** One line of standard output. Pipes are written synchronously on POSIX, so nothing is lost by an exit. */
  write(frame: Readonly<Record<string, unknown>>): void {
    process.stdout.write(`${JSON.stringify(frame)}\n`);
  }

  /** A frame with the session's fields. */
  frame(frame: Readonly<Record<string, unknown>>): void {
    this.write({ ...frame, session_id: this.#session, uuid: randomUUID() });
  }

  system(subtype: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.frame({ type: "system", subtype, ...fields });
  }

  /** Whether a message is open. */
  get open(): boolean {
    return this.#message !== undefined;
  }

  startBlock(block: Readonly<Record<string, unknown>>): void {
    if (!this.#message) {
      this.#message = { id: `msg_${randomUUID()}`, blocks: 0, partial: "" };
      this.#messages += 1;
      this.system("status", { status: "requesting" });
      this.#stream({
        type: "message_start",
        message: { ...this.#head(this.#message.id), content: [], usage: usage(1) },
      });
    }
    this.#message.partial = "";
    this.#stream({ type: "content_block_start", index: this.#message.blocks, content_block: block });
  }

  delta(delta: Readonly<Record<string, unknown>>): void {
    if (!this.#message) return;
    if (typeof delta.text === "string") this.#message.partial += delta.text;
    this.#stream({ type: "content_block_delta", index: this.#message.blocks, delta });
  }

  /** The block's own `assistant` frame comes just before its stop. */
  endBlock(block: ContentBlock): void {
    if (!this.#message) return;
    this.assistant(this.#message.id, block);
    this.#stream({ type: "content_block_stop", index: this.#message.blocks });
    this.#message.blocks += 1;
  }

  endMessage(stopReason: string): void {
    if (!this.#message) return;
    this.#stream({
      type: "message_delta",
      delta: { stop_reason: stopReason, stop_sequence: null },
      usage: usage(5),
    });
    this.#stream({ type: "message_stop" });
    this.#message = undefined;
  }

  /** An interrupted message gets no stop, only what it had said. */
  abortMessage(): void {
    if (this.#message?.partial) {
      this.assistant(this.#message.id, { type: "text", text: this.#message.partial }, { aborted: true });
    }
    this.#message = undefined;
  }

  assistant(id: string, block: ContentBlock, fields: Readonly<Record<string, unknown>> = {}): void {
    const message = { ...this.#head(id), content: [block], usage: usage(1) };
    this.frame({ type: "assistant", message, parent_tool_use_id: null, ...fields });
  }

  /** A message that no request brought, such as the text of an API error. */
  synthetic(text: string, fields: Readonly<Record<string, unknown>>): void {
    const message = { ...this.#head(randomUUID()), model: "<synthetic>", content: [{ type: "text", text }] };
    this.frame({
      type: "assistant",
      message,
      parent_tool_use_id: null,
      is_api_error_message: true,
      ...fields,
    });
  }

  user(content: readonly unknown[], fields: Readonly<Record<string, unknown>> = {}): void {
    this.frame({ type: "user", message: { role: "user", content }, parent_tool_use_id: null, ...fields });
  }

  toolResult(
    id: string,
    text: string,
    isError: boolean,
    fields: Readonly<Record<string, unknown>> = {},
  ): void {
    const block = {
      type: "tool_result",
      tool_use_id: id,
      content: text,
      ...(isError ? { is_error: true } : {}),
    };
    this.user([block], fields);
  }

  result(fields: Readonly<Record<string, unknown>>): void {
    this.frame({
      type: "result",
      subtype: "success",
      is_error: false,
      num_turns: Math.max(1, this.#messages),
      terminal_reason: "completed",
      api_error_status: null,
      permission_denials: [],
      usage: usage(5),
      model_usage_since_last_result: {
        [this.#model]: { inputTokens: 10, outputTokens: 5, cacheReadInputTokens: 0, costUSD: 0.0001 },
      },
      total_cost_usd: 0.0001,
      ...fields,
    });
  }

  #stream(event: Readonly<Record<string, unknown>>): void {
    this.frame({ type: "stream_event", event, parent_tool_use_id: null, api_message_id: this.#message?.id });
  }

  #head(id: string): Record<string, unknown> {
    return {
      id,
      type: "message",
      role: "assistant",
      model: this.#model,
      stop_reason: null,
      stop_sequence: null,
    };
  }
}

function usage(output: number): Record<string, unknown> {
  return {
    input_tokens: 10,
    output_tokens: output,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
  };
}
