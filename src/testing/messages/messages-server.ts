import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type Conversation,
  type MessagesBlock,
  type MessagesReply,
  type MessagesScript,
  readConversation,
} from "./script.js";

/** One request that the server got; credentials are left out. */
export interface MessagesRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly conversation: Conversation;
}

/** A scripted Anthropic Messages API on loopback. */
export interface MessagesServer {
  /** For `ANTHROPIC_BASE_URL`. */
  readonly url: string;
  /** Every request to `/v1/messages` so far, in order of arrival. */
  readonly requests: readonly MessagesRequest[];
  /** Resolves when `count` requests have arrived. */
  received(count: number): Promise<void>;
  /** Ends every open answer and the server. */
  close(): Promise<void>;
}

/** Options of {@link startMessagesServer}. */
export interface MessagesServerOptions {
  readonly script: MessagesScript;
  /** A fixed port; default any free one. */
  readonly port?: number;
}

const CHUNK_CHARACTERS = 12;

/** Starts a server that says what the script says, so that a real program of Anthropic's runs without a model. */
export async function startMessagesServer(options: MessagesServerOptions): Promise<MessagesServer> {
  const requests: MessagesRequest[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  let blocks = 0;
  let served = 0;

  const reply = async (conversation: Conversation): Promise<MessagesReply> => {
    if (typeof options.script === "function") return options.script(conversation);
    return options.script[served++] ?? { content: [{ type: "text", text: "Done." }] };
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    if (request.method !== "POST" || path !== "/v1/messages") {
      response.writeHead(request.method === "HEAD" ? 200 : 404).end();
      return;
    }
    const conversation = readConversation(await readJson(request));
    requests.push({ method: request.method, path, headers: headersOf(request), conversation });
    for (const waiter of waiting) if (requests.length >= waiter.count) waiter.resolve();

    const answer = await reply(conversation);
    if ("hang" in answer) return;
    if ("error" in answer) {
      const { status, type = "api_error", message = "scripted error" } = answer.error;
      response.writeHead(status, {
        "content-type": "application/json",
        "request-id": `req_${requests.length}`,
      });
      response.end(JSON.stringify({ type: "error", error: { type, message } }));
      return;
    }
    const message = {
      id: `msg_${randomUUID()}`,
      type: "message",
      role: "assistant",
      model: typeof conversation.body.model === "string" ? conversation.body.model : "scripted",
      stop_sequence: null,
    };
    const content = answer.content.map((block) =>
      block.type === "tool_use" ? { ...block, id: block.id ?? `toolu_scripted_${++blocks}` } : block,
    );
    const stopReason =
      answer.stopReason ?? (content.some((block) => block.type === "tool_use") ? "tool_use" : "end_turn");
    const usage = {
      input_tokens: 10,
      output_tokens: 5,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    };
    // After a stalled stream Claude Code asks again without streaming and wants one JSON document.
    if (conversation.body.stream !== true) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ ...message, content: content.map(finished), stop_reason: stopReason, usage }),
      );
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    const send = (event: { type: string; [key: string]: unknown }) =>
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    send({
      type: "message_start",
      message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    });
    send({ type: "ping" });
    for (const [index, block] of content.entries()) {
      send({ type: "content_block_start", index, content_block: empty(block) });
      for (const delta of deltas(block)) send({ type: "content_block_delta", index, delta });
      if (answer.stall && index === content.length - 1) return;
      send({ type: "content_block_stop", index });
    }
    if (answer.stall) return;
    send({ type: "message_delta", delta: { stop_reason: stopReason, stop_sequence: null }, usage });
    send({ type: "message_stop" });
    response.end();
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { "content-type": "application/json" });
      response.end(JSON.stringify({ type: "error", error: { type: "api_error", message: String(error) } }));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    received: (count) =>
      new Promise((resolve) => {
        if (requests.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
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

function pieces(text: string): string[] {
  const characters = [...text];
  const result: string[] = [];
  for (let at = 0; at < characters.length; at += CHUNK_CHARACTERS) {
    result.push(characters.slice(at, at + CHUNK_CHARACTERS).join(""));
  }
  return result;
}

function headersOf(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, value]) =>
      typeof value === "string" && name !== "authorization" && name !== "x-api-key" ? [[name, value]] : [],
    ),
  );
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    return undefined;
  }
}
