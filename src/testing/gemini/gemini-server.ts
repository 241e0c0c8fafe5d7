import type { ServerResponse } from "node:http";
import {
  beginStream,
  type ModelDialect,
  type ModelServer,
  pieces,
  sendJson,
  startModelServer,
} from "../model-server.js";
import {
  type GeminiConversation,
  type GeminiItem,
  type GeminiReply,
  type GeminiScript,
  readGeminiConversation,
} from "./script.js";

/** A scripted Gemini API on loopback; its `url` is for `GOOGLE_GEMINI_BASE_URL`. */
export type GeminiServer = ModelServer<GeminiConversation>;

const USAGE = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
const STREAM = /^\/v1beta\/models\/[^/:]+:streamGenerateContent$/;
const SINGLE = /^\/v1beta\/models\/[^/:]+:(generateContent|countTokens)$/;

/** Starts a server that says what the script says, so that Google's real program runs without a model. */
export function startGeminiServer({ script }: { readonly script: GeminiScript }): Promise<GeminiServer> {
  let calls = 0;
  const dialect: ModelDialect<GeminiConversation, GeminiReply> = {
    isTurn: (path) => STREAM.test(path),
    aside({ method }, path, response) {
      // The program's own questions beside the conversation.
      if (method === "POST" && SINGLE.test(path))
        sendJson(response, 200, { ...candidate([{ text: "{}" }], true), totalTokens: 1 });
      else response.writeHead(404).end();
    },
    secretHeader: "x-goog-api-key",
    read: readGeminiConversation,
    done: { content: [{ type: "text", text: "Done." }] },
    answer: (reply, _request, response) => answer(reply, response, () => `call_${++calls}`),
    failure: (message) => ({ error: { code: 500, status: "INTERNAL", message } }),
  };
  return startModelServer(dialect, script);
}

async function answer(reply: GeminiReply, response: ServerResponse, callId: () => string): Promise<void> {
  if ("hang" in reply) return;
  if ("error" in reply) {
    const { status, code = "INVALID_ARGUMENT", message = "scripted error" } = reply.error;
    sendJson(response, status, { error: { code: status, status: code, message } });
    return;
  }
  beginStream(response);
  const send = (parts: readonly object[], last: boolean) =>
    response.write(`data: ${JSON.stringify(candidate(parts, last))}\r\n\r\n`);
  // Calls of one message come together.
  const functionCalls = reply.content.flatMap((item) =>
    item.type === "function_call"
      ? [{ functionCall: { id: item.id ?? callId(), name: item.name, args: item.args } }]
      : [],
  );
  for (const item of reply.content) await sendItem(item, (part) => send([part], false));
  if (reply.stall) return;
  if (reply.cut) {
    response.destroy();
    return;
  }
  send(functionCalls, true);
  response.end();
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
