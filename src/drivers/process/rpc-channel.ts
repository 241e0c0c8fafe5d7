import { type RunErrorCode, TroupeError } from "../../core/errors.js";
import { asNumber, asObject, asText, type JsonObject } from "./json.js";

/** Names a request of either side. */
export type RpcId = string | number;

/** What JSON-RPC calls a request that the receiver does not know. */
export const METHOD_NOT_FOUND = -32_601;

/** Options of an {@link RpcChannel}. */
export interface RpcChannelOptions {
  /** The field `jsonrpc` of every message; left out by default. */
  readonly version?: "2.0";
  send(message: JsonObject): void;
  onNotification(method: string, params: JsonObject): void;
  /** Must be answered by {@link RpcChannel.respond} or {@link RpcChannel.refuse}: the program waits for ever. */
  onRequest(id: RpcId, method: string, params: JsonObject): void;
}

/** The program refused a request; `message` has its own words. */
export class RpcRefusal extends TroupeError<RunErrorCode> {
  constructor(
    message: string,
    /** The number that JSON-RPC gives an error. */
    readonly rpcCode: number | undefined,
    /** What came with it. */
    readonly data: unknown,
  ) {
    super("protocol_error", message);
  }
}

interface Waiting {
  resolve(result: JsonObject): void;
  reject(error: RpcRefusal): void;
}

/** JSON-RPC over lines, in both directions: requests, answers and notifications. */
export class RpcChannel {
  readonly #options: RpcChannelOptions;
  readonly #envelope: JsonObject;
  readonly #waiting = new Map<RpcId, Waiting>();
  #count = 0;

  constructor(options: RpcChannelOptions) {
    this.#options = options;
    this.#envelope = options.version === undefined ? {} : { jsonrpc: options.version };
  }

  /**
   * Sends a request.
   * @returns the result; never settles when the program does not answer.
   * @throws RpcRefusal when the program refuses.
   */
  request(method: string, params: JsonObject): Promise<JsonObject> {
    const id = ++this.#count;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ method, id, params });
    });
  }

  notify(method: string, params?: JsonObject): void {
    this.#send(params === undefined ? { method } : { method, params });
  }

  respond(id: RpcId, result: JsonObject): void {
    this.#send({ id, result });
  }

  refuse(id: RpcId, code: number, message: string): void {
    this.#send({ id, error: { code, message } });
  }

  /** Takes a message. Anything that is none is ignored. */
  message(value: unknown): void {
    const message = asObject(value);
    const method = asText(message.method);
    const id = typeof message.id === "number" ? message.id : asText(message.id);
    if (method === undefined) this.#answer(id, message);
    else if (id === undefined) this.#options.onNotification(method, asObject(message.params));
    else this.#options.onRequest(id, method, asObject(message.params));
  }

  /** The program is gone: open requests stay unanswered. */
  close(): void {
    this.#waiting.clear();
  }

  #send(message: JsonObject): void {
    this.#options.send({ ...this.#envelope, ...message });
  }

  #answer(id: RpcId | undefined, message: JsonObject): void {
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (id === undefined || !waiting) return;
    this.#waiting.delete(id);
    if (!("error" in message)) {
      waiting.resolve(asObject(message.result));
      return;
    }
    const { message: words, code, data } = asObject(message.error);
    waiting.reject(new RpcRefusal(asText(words) ?? "The program refused a request.", asNumber(code), data));
  }
}
