import { SendMessageRequest, StreamResponse, type Task } from "@a2a-js/sdk";
import { WireError } from "../../wire/errors.js";
import { withoutLeadingControls } from "../../wire/event-framing.js";
import type { Answer, GuardedRequest } from "../../wire/guarded-client.js";
import { parseJson } from "../../wire/json.js";
import { SseParser } from "../../wire/sse-reader.js";
import { type CallOptions, type Delivery, RpcError, type TaskChannel } from "./channel.js";
import { legacyParams, modernResponse } from "./legacy.js";

/** Options of {@link JsonRpcChannel}. */
export interface JsonRpcChannelOptions {
  readonly url: string;
  readonly version: "1.0" | "0.3";
  readonly tenant: string;
  readonly maxEventBytes: number;
  /** Sends a request with the credential. */
  readonly request: (url: string, request: GuardedRequest, call: CallOptions) => Promise<Answer>;
}

const METHODS = {
  "1.0": {
    stream: "SendStreamingMessage",
    send: "SendMessage",
    subscribe: "SubscribeToTask",
    get: "GetTask",
    cancel: "CancelTask",
  },
  "0.3": {
    stream: "message/stream",
    send: "message/send",
    subscribe: "tasks/resubscribe",
    get: "tasks/get",
    cancel: "tasks/cancel",
  },
} as const;

type Operation = keyof (typeof METHODS)["1.0"];

/** JSON-RPC 2.0, section 5.1. */
const METHOD_NOT_FOUND = -32601;

/**
 * A2A over JSON-RPC, versions 1.0 and 0.3. Reads streams by itself: each event is parsed once, and what foreign servers leave out
 * or add is still there to be judged.
 */
export class JsonRpcChannel implements TaskChannel {
  readonly #options: JsonRpcChannelOptions;
  #version: "1.0" | "0.3";
  #calls = 0;

  constructor(options: JsonRpcChannelOptions) {
    this.#options = options;
    this.#version = options.version;
  }

  stream(request: SendMessageRequest, call: CallOptions): AsyncGenerator<Delivery, void, undefined> {
    const open = () => this.#open("stream", this.#sendParams(request, undefined), call);
    return this.#events(() => this.#downgrading(open));
  }

  async send(request: SendMessageRequest, call: CallOptions): Promise<Delivery> {
    return this.#downgrading(() => this.#unary("send", this.#sendParams(request, false), call));
  }

  subscribe(taskId: string, call: CallOptions): AsyncGenerator<Delivery, void, undefined> {
    return this.#events(() => this.#open("subscribe", this.#taskParams(taskId, {}), call));
  }

  async get(taskId: string, call: CallOptions): Promise<Delivery & { readonly task: Task }> {
    return ofTask(await this.#unary("get", this.#taskParams(taskId, { historyLength: 0 }), call));
  }

  async cancel(
    taskId: string,
    metadata: Readonly<Record<string, unknown>>,
    call: CallOptions,
  ): Promise<Delivery & { readonly task: Task }> {
    return ofTask(await this.#unary("cancel", this.#taskParams(taskId, { metadata }), call));
  }

  /** Cards exist that name no version and mean the old one. A method that is not known has started nothing. */
  async #downgrading<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      if (this.#version === "0.3" || !(error instanceof RpcError) || error.code !== METHOD_NOT_FOUND)
        throw error;
      this.#version = "0.3";
      try {
        return await send();
      } catch (second) {
        if (!(second instanceof RpcError) || second.code !== METHOD_NOT_FOUND) throw second;
        this.#version = this.#options.version;
        throw error;
      }
    }
  }

  #sendParams(request: SendMessageRequest, blocking: boolean | undefined): object {
    if (this.#version === "0.3") return legacyParams(request, blocking);
    return Object(SendMessageRequest.toJSON({ ...request, tenant: this.#options.tenant }));
  }

  #taskParams(id: string, more: object): object {
    const { tenant } = this.#options;
    return { ...(tenant === "" || this.#version === "0.3" ? {} : { tenant }), id, ...more };
  }

  async #post(operation: Operation, params: object, call: CallOptions, accept: string): Promise<Answer> {
    const { url, request } = this.#options;
    const method = METHODS[this.#version][operation];
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++this.#calls, method, params });
    const headers = { "Content-Type": "application/json", Accept: accept, "A2A-Version": this.#version };
    return request(url, { method: "POST", headers, body, signal: call.signal }, call);
  }

  async #unary(operation: Operation, params: object, call: CallOptions): Promise<Delivery> {
    const response = await this.#post(operation, params, call, "application/json");
    return single(response, await response.text());
  }

  /** A stream whose answer has begun; errors that come instead are thrown here, before anything was given. */
  async #open(operation: Operation, params: object, call: CallOptions): Promise<Answer | Delivery> {
    const response = await this.#post(operation, params, call, "text/event-stream");
    if (isEventStream(response)) return response;
    return single(response, await response.text());
  }

  /** Nothing is sent before the first event is asked for. */
  async *#events(open: () => Promise<Answer | Delivery>): AsyncGenerator<Delivery, void, undefined> {
    const opened = await open();
    if ("response" in opened) {
      yield opened;
      return;
    }
    const parser = new SseParser({ maxEventBytes: this.#options.maxEventBytes });
    try {
      for (let bytes = await opened.read(); bytes !== undefined; bytes = await opened.read()) {
        for (const { data } of parser.push(bytes)) {
          if (data !== "" && data !== "[DONE]") yield deliver(parseJson(withoutLeadingControls(data)));
        }
      }
    } finally {
      opened.cancel();
    }
  }
}

/** The answer to a call that is no stream. */
function single(answer: Answer, text: string): Delivery {
  const ok = answer.status < 300;
  let body: unknown;
  try {
    body = parseJson(withoutLeadingControls(text));
  } catch {
    // Nothing of the text is quoted. It answers the call, so it is no broken connection.
    if (ok) throw new Error("The answer is not JSON.");
  }
  const known = isObject(body) && ("error" in body || "result" in body);
  if (!ok && !(known && isObject(body) && "error" in body)) {
    throw new WireError("http_status", `The endpoint answered with HTTP ${answer.status}.`, {
      status: answer.status,
    });
  }
  return deliver(body);
}

function deliver(body: unknown): Delivery {
  if (!isObject(body)) throw new WireError("malformed", "An answer is no JSON-RPC object.");
  const { error } = body;
  if (isObject(error)) {
    const code = typeof error.code === "number" ? error.code : 0;
    throw new RpcError(code, typeof error.message === "string" ? error.message : "");
  }
  if (!("result" in body)) throw new WireError("malformed", "An answer has neither result nor error.");
  const { json, ...more } = modernResponse(body.result);
  try {
    return { response: StreamResponse.fromJSON(json), ...more };
  } catch (cause) {
    throw new WireError("malformed", "An answer is not of the protocol's shape.", { cause });
  }
}

function ofTask(delivery: Delivery): Delivery & { readonly task: Task } {
  const { payload } = delivery.response;
  if (payload?.$case !== "task") throw new WireError("malformed", "The answer is no task.");
  return { ...delivery, task: payload.value };
}

function isEventStream({ headers }: Answer): boolean {
  return /^\s*text\/event-stream\b/i.test(headers.get("content-type") ?? "");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
