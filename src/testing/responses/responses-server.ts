import { randomUUID } from "node:crypto";
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
  type ResponsesConversation,
  type ResponsesItem,
  type ResponsesReply,
  type ResponsesScript,
  readResponsesConversation,
} from "./script.js";

/** A scripted OpenAI Responses API on loopback; its `url` is for `base_url` of a model provider, and ends in `/v1`. */
export type ResponsesServer = ModelServer<ResponsesConversation>;

type Send = (type: string, fields: Readonly<Record<string, unknown>>) => void;

const USAGE = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 2 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
};

/**
 * Starts a server that says what the script says, so that a real program of OpenAI's runs without a model.
 * @param options `port`: a fixed one; by default any free one.
 */
export async function startResponsesServer(options: {
  readonly script: ResponsesScript;
  readonly port?: number;
}): Promise<ResponsesServer> {
  let calls = 0;
  const dialect: ModelDialect<ResponsesConversation, ResponsesReply> = {
    isTurn: (path) => path === "/v1/responses",
    read: readResponsesConversation,
    done: { content: [{ type: "text", text: "Done." }] },
    answer: (reply, _request, response) => answer(reply, response, () => `call_scripted_${++calls}`),
    failure: (message) => ({ error: { code: "scripted_error", message } }),
  };
  const server = await startModelServer(dialect, options.script, options.port);
  return { ...server, url: `${server.url}/v1` };
}

async function answer(reply: ResponsesReply, response: ServerResponse, callId: () => string): Promise<void> {
  if ("hang" in reply) return;
  if ("error" in reply) {
    const { status, code = "scripted_error", message = "scripted error" } = reply.error;
    sendJson(response, status, { error: { type: code, code, message } });
    return;
  }
  beginStream(response);
  let sequence = 0;
  const send: Send = (type, fields) => {
    const event = { type, sequence_number: sequence++, ...fields };
    response.write(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
  };
  const id = `resp_${randomUUID()}`;
  send("response.created", { response: { id, status: "in_progress", output: [] } });
  if ("failed" in reply) {
    send("response.failed", { response: { id, status: "failed", error: reply.failed } });
    response.end();
    return;
  }
  for (const [index, item] of reply.content.entries()) {
    if (item.type === "pause") await item.until.catch(() => undefined);
    else sendItem(send, index, item, callId);
  }
  if (reply.stall) return;
  if (reply.cut) {
    response.destroy();
    return;
  }
  send("response.completed", { response: { id, status: "completed", output: [], usage: USAGE } });
  response.end();
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
