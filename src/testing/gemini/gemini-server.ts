import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type GeminiConversation,
  type GeminiItem,
  type GeminiReply,
  type GeminiScript,
  readGeminiConversation,
} from "./script.js";

/** One request that the server got; credentials are left out. */
export interface GeminiRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly conversation: GeminiConversation;
  /** Whether its caller went away before the answer was complete. */
  aborted: boolean;
}

/** A scripted Gemini API on loopback. */
export interface GeminiServer {
  /** For `GOOGLE_GEMINI_BASE_URL`. */
  readonly url: string;
  /** Every request for a streamed answer so far, in order of arrival. */
  readonly requests: readonly GeminiRequest[];
  /** Resolves when `count` requests have arrived. */
  received(count: number): Promise<void>;
  /** Ends every open answer and the server. */
  close(): Promise<void>;
}

const CHUNK_CHARACTERS = 12;
const USAGE = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
const STREAM = /^\/v1beta\/models\/[^/:]+:streamGenerateContent$/;
const SINGLE = /^\/v1beta\/models\/[^/:]+:(generateContent|countTokens)$/;

/** Starts a server that says what the script says, so that Google's real program runs without a model. */
export async function startGeminiServer(options: { readonly script: GeminiScript }): Promise<GeminiServer> {
  const requests: GeminiRequest[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  let calls = 0;
  let served = 0;

  const reply = async (conversation: GeminiConversation): Promise<GeminiReply> => {
    if (typeof options.script === "function") return options.script(conversation);
    return options.script[served++] ?? { content: [{ type: "text", text: "Done." }] };
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    if (request.method === "POST" && SINGLE.test(path)) {
      // The program's own questions beside the conversation.
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ ...candidate([{ text: "{}" }], true), totalTokens: 1 }));
      return;
    }
    if (request.method !== "POST" || !STREAM.test(path)) {
      response.writeHead(404).end();
      return;
    }
    const conversation = readGeminiConversation(await readJson(request));
    const seen: GeminiRequest = { path, headers: headersOf(request), conversation, aborted: false };
    requests.push(seen);
    response.on("close", () => {
      seen.aborted = !response.writableFinished;
    });
    for (const waiter of waiting) if (requests.length >= waiter.count) waiter.resolve();

    const answer = await reply(conversation);
    if ("hang" in answer) return;
    if ("error" in answer) {
      const { status, code = "INVALID_ARGUMENT", message = "scripted error" } = answer.error;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { code: status, status: code, message } }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    const send = (parts: readonly object[], last: boolean) =>
      response.write(`data: ${JSON.stringify(candidate(parts, last))}\r\n\r\n`);
    // Calls of one message come together.
    const functionCalls = answer.content.flatMap((item) =>
      item.type === "function_call"
        ? [{ functionCall: { id: item.id ?? `call_${++calls}`, name: item.name, args: item.args } }]
        : [],
    );
    for (const item of answer.content) await sendItem(item, (part) => send([part], false));
    if (answer.stall) return;
    if (answer.cut) {
      response.destroy();
      return;
    }
    send(functionCalls, true);
    response.end();
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { code: 500, status: "INTERNAL", message: String(error) } }));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
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

function candidate(parts: readonly object[], last: boolean): object {
  return {
    candidates: [{ index: 0, content: { role: "model", parts }, ...(last && { finishReason: "STOP" }) }],
    usageMetadata: USAGE,
    modelVersion: "scripted",
  };
}

async function sendItem(item: GeminiItem, send: (part: object) => unknown): Promise<void> {
  if (item.type === "pause") await item.until.catch(() => undefined);
  else if (item.type === "thought") send({ text: item.text, thought: true });
  else if (item.type === "text") for (const text of pieces(item.text)) send({ text });
}

function pieces(text: string): string[] {
  const characters = [...text];
  const result: string[] = [];
  for (let at = 0; at < characters.length; at += CHUNK_CHARACTERS)
    result.push(characters.slice(at, at + CHUNK_CHARACTERS).join(""));
  return result;
}

function headersOf(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, value]) =>
      typeof value === "string" && name !== "authorization" && name !== "x-goog-api-key"
        ? [[name, value]]
        : [],
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
