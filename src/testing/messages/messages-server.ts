import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import {
  beginStream,
  type ModelDialect,
  type ModelRequest,
  type ModelServer,
  pieces,
  sendJson,
  startModelServer,
} from "../model-server.js";
import {
  type Conversation,
  type MessagesBlock,
  type MessagesReply,
  type MessagesScript,
  readConversation,
} from "./script.js";

/** A scripted Anthropic Messages API on loopback; its `url` is for `ANTHROPIC_BASE_URL`. */
export type MessagesServer = ModelServer<Conversation>;

const USAGE = {
  input_tokens: 10,
  output_tokens: 5,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};

/**
 * Starts a server that says what the script says, so that a real program of Anthropic's runs without a model.
 * @param options `port`: a fixed one; by default any free one.
 */
export function startMessagesServer(options: {
  readonly script: MessagesScript;
  readonly port?: number;
}): Promise<MessagesServer> {
  let calls = 0;
  const dialect: ModelDialect<Conversation, MessagesReply> = {
    isTurn: (path) => path === "/v1/messages",
    aside: ({ method }, _path, response) => response.writeHead(method === "HEAD" ? 200 : 404).end(),
    secretHeader: "x-api-key",
    read: readConversation,
    done: { content: [{ type: "text", text: "Done." }] },
    answer: (reply, request, response) => answer(reply, request, response, () => `toolu_scripted_${++calls}`),
    failure: (message) => ({ type: "error", error: { type: "api_error", message } }),
  };
  return startModelServer(dialect, options.script, options.port);
}

function answer(
  reply: MessagesReply,
  { conversation }: ModelRequest<Conversation>,
  response: ServerResponse,
  callId: () => string,
): void {
  if ("hang" in reply) return;
  if ("error" in reply) {
    const { status, type = "api_error", message = "scripted error" } = reply.error;
    const headers = { "request-id": `req_${randomUUID()}` };
    sendJson(response, status, { type: "error", error: { type, message } }, headers);
    return;
  }
  const message = {
    id: `msg_${randomUUID()}`,
    type: "message",
    role: "assistant",
    model: typeof conversation.body.model === "string" ? conversation.body.model : "scripted",
    stop_sequence: null,
  };
  const content = reply.content.map((block) =>
    block.type === "tool_use" ? { ...block, id: block.id ?? callId() } : block,
  );
  const stopReason =
    reply.stopReason ?? (content.some((block) => block.type === "tool_use") ? "tool_use" : "end_turn");
  // After a stalled stream Claude Code asks again without streaming and wants one JSON document.
  if (conversation.body.stream !== true) {
    const whole = { ...message, content: content.map(finished), stop_reason: stopReason, usage: USAGE };
    sendJson(response, 200, whole);
    return;
  }
  beginStream(response);
  const send = (event: { type: string; [key: string]: unknown }) =>
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  send({
    type: "message_start",
    message: { ...message, content: [], stop_reason: null, usage: { ...USAGE, output_tokens: 1 } },
  });
  send({ type: "ping" });
  for (const [index, block] of content.entries()) {
    send({ type: "content_block_start", index, content_block: empty(block) });
    for (const delta of deltas(block)) send({ type: "content_block_delta", index, delta });
    if (reply.stall && index === content.length - 1) return;
    send({ type: "content_block_stop", index });
  }
  if (reply.stall) return;
  send({ type: "message_delta", delta: { stop_reason: stopReason, stop_sequence: null }, usage: USAGE });
  send({ type: "message_stop" });
  response.end();
}

function empty(block: MessagesBlock): Record<string, unknown> {
  if (block.type === "text") return { type: "text", text: "" };
  if (block.type === "thinking") return { type: "thinking", thinking: "", signature: "" };
  return { type: "tool_use", id: block.id, name: block.name, input: {} };
}

function finished(block: MessagesBlock): Record<string, unknown> {
  return block.type === "thinking" ? { ...block, signature: "c2NyaXB0ZWQ=" } : { ...block };
}

function deltas(block: MessagesBlock): Record<string, unknown>[] {
  if (block.type === "text") return pieces(block.text).map((text) => ({ type: "text_delta", text }));
  if (block.type === "thinking") {
    return [
      ...pieces(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
      { type: "signature_delta", signature: "c2NyaXB0ZWQ=" },
    ];
  }
  // The real API starts with an empty piece.
  return ["", ...pieces(JSON.stringify(block.input))].map((json) => ({
    type: "input_json_delta",
    partial_json: json,
  }));
}
