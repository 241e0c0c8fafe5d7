import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type ResponsesConversation,
  type ResponsesItem,
  type ResponsesReply,
  type ResponsesScript,
  readResponsesConversation,
} from "./script.js";

/** One request that the server got; credentials are left out. */
export interface ResponsesRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly conversation: ResponsesConversation;
  /** Whether its caller went away before the answer was complete. */
  aborted: boolean;
}

/** A scripted OpenAI Responses API on loopback. */
export interface ResponsesServer {
  /** For `base_url` of a model provider; ends in `/v1`. */
  readonly url: string;
  /** Every request to `/v1/responses` so far, in order of arrival. */
  readonly requests: readonly ResponsesRequest[];
  /** Resolves when `count` requests have arrived. */
  received(count: number): Promise<void>;
  /** Ends every open answer and the server. */
  close(): Promise<void>;
}

/** Options of {@link startResponsesServer}. */
export interface ResponsesServerOptions {
  readonly script: ResponsesScript;
  /** A fixed port; default any free one. */
  readonly port?: number;
}

type Send = (type: string, fields: Readonly<Record<string, unknown>>) => void;

const CHUNK_CHARACTERS = 12;
const USAGE = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 2 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
};

/** Starts a server that says what the script says, so that a real program of OpenAI's runs without a model. */
export async function startResponsesServer(options: ResponsesServerOptions): Promise<ResponsesServer> {
  const requests: ResponsesRequest[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  let calls = 0;
  let served = 0;

  const reply = async (conversation: ResponsesConversation): Promise<ResponsesReply> => {
    if (typeof options.script === "function") return options.script(conversation);
    return options.script[served++] ?? { content: [{ type: "text", text: "Done." }] };
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    if (request.method !== "POST" || path !== "/v1/responses") {
      response.writeHead(404).end();
      return;
    }
    const conversation = readResponsesConversation(await readJson(request));
    const seen: ResponsesRequest = { path, headers: headersOf(request), conversation, aborted: false };
    requests.push(seen);
    response.on("close", () => {
      seen.aborted = !response.writableFinished;
    });
    for (const waiter of waiting) if (requests.length >= waiter.count) waiter.resolve();

    const answer = await reply(conversation);
    if ("hang" in answer) return;
    if ("error" in answer) {
      const { status, code = "scripted_error", message = "scripted error" } = answer.error;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { type: code, code, message } }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    let sequence = 0;
    const send: Send = (type, fields) => {
      const event = { type, sequence_number: sequence++, ...fields };
      response.write(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
    };
    const id = `resp_${randomUUID()}`;
    send("response.created", { response: { id, status: "in_progress", output: [] } });
    if ("failed" in answer) {
      send("response.failed", { response: { id, status: "failed", error: answer.failed } });
      response.end();
      return;
    }
    for (const [index, item] of answer.content.entries()) {
      if (item.type === "pause") await item.until.catch(() => undefined);
      else sendItem(send, index, item, () => `call_scripted_${++calls}`);
    }
    if (answer.stall) return;
    if (answer.cut) {
      response.destroy();
      return;
    }
    send("response.completed", { response: { id, status: "completed", output: [], usage: USAGE } });
    response.end();
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { code: "scripted_error", message: String(error) } }));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
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

function sendItem(
  send: Send,
  index: number,
  item: Exclude<ResponsesItem, { type: "pause" }>,
  callId: () => string,
): void {
  const place = { output_index: index };
  if (item.type === "text") {
    const id = `msg_${randomUUID()}`;
    const message = { id, type: "message", role: "assistant" };
    send("response.output_item.added", {
      ...place,
      item: { ...message, status: "in_progress", content: [] },
    });
    const part = { item_id: id, ...place, content_index: 0 };
    send("response.content_part.added", {
      ...part,
      part: { type: "output_text", text: "", annotations: [] },
    });
    for (const delta of pieces(item.text)) send("response.output_text.delta", { ...part, delta });
    send("response.output_text.done", { ...part, text: item.text });
    const content = [{ type: "output_text", text: item.text, annotations: [] }];
    send("response.output_item.done", { ...place, item: { ...message, status: "completed", content } });
  } else if (item.type === "reasoning") {
    const id = `rs_${randomUUID()}`;
    send("response.output_item.added", { ...place, item: { id, type: "reasoning", summary: [] } });
    const part = { item_id: id, ...place, summary_index: 0 };
    send("response.reasoning_summary_part.added", { ...part, part: { type: "summary_text", text: "" } });
    for (const delta of pieces(item.text)) send("response.reasoning_summary_text.delta", { ...part, delta });
    const summary = [{ type: "summary_text", text: item.text }];
    send("response.output_item.done", { ...place, item: { id, type: "reasoning", summary } });
  } else if (item.type === "function_call") {
    const { name, namespace } = item;
    const call = {
      id: `fc_${randomUUID()}`,
      type: "function_call",
      call_id: item.callId ?? callId(),
      name,
      ...(namespace === undefined ? {} : { namespace }),
    };
    const json = JSON.stringify(item.arguments);
    send("response.output_item.added", { ...place, item: { ...call, status: "in_progress", arguments: "" } });
    for (const delta of pieces(json))
      send("response.function_call_arguments.delta", { item_id: call.id, ...place, delta });
    send("response.output_item.done", { ...place, item: { ...call, status: "completed", arguments: json } });
  } else {
    const call = {
      id: `ctc_${randomUUID()}`,
      type: "custom_tool_call",
      call_id: item.callId ?? callId(),
      name: item.name,
    };
    send("response.output_item.added", { ...place, item: { ...call, status: "in_progress", input: "" } });
    for (const delta of pieces(item.input))
      send("response.custom_tool_call_input.delta", { item_id: call.id, ...place, delta });
    send("response.output_item.done", {
      ...place,
      item: { ...call, status: "completed", input: item.input },
    });
  }
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
      typeof value === "string" && name !== "authorization" ? [[name, value]] : [],
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
