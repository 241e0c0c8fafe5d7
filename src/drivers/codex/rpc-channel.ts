import { type RunErrorCode, TroupeError } from "../../core/errors.js";
import { asObject, asText, type JsonObject } from "../process/json.js";

/** Names a request of either side. */
export type RpcId = string | number;

/** Options of an {@link RpcChannel}. */
export interface RpcChannelOptions {
  send(message: JsonObject): void;
  onNotification(method: string, params: JsonObject): void;
  /** Must be answered by {@link RpcChannel.respond} or {@link RpcChannel.refuse}: the program waits for ever. */
  onRequest(id: RpcId, method: string, params: JsonObject): void;
}

interface Waiting {
  resolve(result: JsonObject): void;
  reject(error: TroupeError<RunErrorCode>): void;
}

/** Requests, answers and notifications in both directions, as the app-server speaks them: JSON-RPC without its version field. */
export class RpcChannel {
  readonly #options: RpcChannelOptions;
  readonly #waiting = new Map<RpcId, Waiting>();
  #count = 0;

  constructor(options: RpcChannelOptions) {
    this.#options = options;
  }

  /**
   * Sends a request.
   * @returns the result; never settles when the program does not answer.
   * @throws TroupeError `protocol_error` with the program's own words when it refuses.
   */
  request(method: string, params: JsonObject): Promise<JsonObject> {
    const id = ++this.#count;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#options.send({ method, id, params });
    });
  }

  notify(method: string): void {
    this.#options.send({ method });
  }

  respond(id: RpcId, result: JsonObject): void {
    this.#options.send({ id, result });
  }

  refuse(id: RpcId, code: number, message: string): void {
    this.#options.send({ id, error: { code, message } });
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

  #answer(id: RpcId | undefined, message: JsonObject): void {
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (id === undefined || !waiting) return;
    this.#waiting.delete(id);
    if (!("error" in message)) {
      waiting.resolve(asObject(message.result));
      return;
    }
    const words = asText(asObject(message.error).message) ?? "The program refused a request.";
    waiting.reject(new TroupeError("protocol_error", words));
  }
}
