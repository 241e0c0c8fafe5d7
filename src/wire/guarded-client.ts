import type { LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { Agent } from "undici";
import type { Clock } from "../core/clock.js";
import { checkedLookup } from "./checked-lookup.js";
import { connectionError } from "./connection-error.js";
import { WireError } from "./errors.js";
import { type AnswerHead, Exchange } from "./exchange.js";
import { CONNECT_TIMEOUT_MS, MAX_RESPONSE_BYTES } from "./limits.js";
import { comparableOrigin, printableUrl } from "./origin.js";
import { Silence } from "./silence.js";
import { statusError } from "./status-error.js";

/** Options of {@link createGuardedClient}. */
export interface GuardedClientOptions {
  readonly clock: Clock;
  /** The only origins that may be called, as URLs or origins. `localhost`, `127.0.0.1` and `[::1]` with one port are one. */
  readonly origins: Iterable<string>;
  /** Headers with the credential; asked for each request, and sent only to `origins`. They win over the caller's. */
  readonly credential?: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** Bytes of a response body after decompression, streams too. Default {@link MAX_RESPONSE_BYTES}. */
  readonly maxResponseBytes?: number;
  /** Milliseconds until a connection stands. Default {@link CONNECT_TIMEOUT_MS}. */
  readonly connectTimeoutMs?: number;
  /** How names become addresses, which are checked all the same; by default the system's way. */
  readonly lookup?: LookupFunction;
  /** Milliseconds without a byte, before the headers as well as in the body. Default: no limit. */
  readonly idleTimeoutMs?: number;
  /**
   * Lets an answer through whose status is no success, because the caller reads its body. By default each becomes a
   * {@link WireError}; 401, 403, 407, 429, 502, 503, 504 and redirects always do.
   */
  readonly acceptStatus?: (answer: AnswerHead) => boolean;
}

/** One request. */
export interface GuardedRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/** An answer, whose body is read when asked. */
export interface Answer extends AnswerHead {
  /** The next bytes; `undefined` at the end. @throws WireError, or the signal's reason. */
  read(): Promise<Uint8Array | undefined>;
  /** All of it, as UTF-8. @throws as {@link read}, and WireError `malformed` when a success holds anything else. */
  text(): Promise<string>;
  /** Nobody reads on: the connection is closed, unless the body is over. */
  cancel(): void;
}

/** Makes requests that only go where they may. */
export interface GuardedClient {
  /** @throws WireError, or the signal's reason when the caller aborts. */
  request(url: string, request?: GuardedRequest): Promise<Answer>;
  /** Ends every connection; calls that are under way fail. */
  close(): Promise<void>;
}

/**
 * Calls programs that are not trusted: origins are checked before anything is sent, redirects are refused (they would carry the
 * body and API keys elsewhere), bodies are capped, and undici's own limit of 300 s on silence is off.
 */
export function createGuardedClient(options: GuardedClientOptions): GuardedClient {
  const allowed = new Set<string>();
  for (const origin of options.origins) {
    const comparable = comparableOrigin(origin);
    if (comparable !== undefined) allowed.add(comparable);
  }
  const dispatcher = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      timeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      lookup: checkedLookup(options.lookup),
    },
  });
  return {
    async request(url, request = {}) {
      const origin = comparableOrigin(url);
      if (origin === undefined || !allowed.has(origin)) {
        throw new WireError(
          "origin_refused",
          `${printableUrl(url)} is not among the origins that may be called; nothing was sent.`,
        );
      }
      const credential = options.credential === undefined ? {} : await options.credential();
      request.signal?.throwIfAborted();
      const headers = merge(request.headers ?? {}, credential);
      return new GuardedExchange(dispatcher, options, url, request, headers).answer();
    },
    close: () => dispatcher.destroy(),
  };
}

/** One exchange under guard. */
class GuardedExchange {
  readonly #exchange: Exchange;
  readonly #silence: Silence;
  readonly #limit: number;
  /** Why it was ended from this side. */
  #stopped: { readonly reason: unknown } | undefined;
  #received = 0;
  #read: () => Promise<Uint8Array | undefined>;

  constructor(
    dispatcher: Agent,
    private readonly options: GuardedClientOptions,
    private readonly url: string,
    private readonly call: GuardedRequest,
    headers: Readonly<Record<string, string>>,
  ) {
    const { origin, pathname, search } = new URL(url);
    const { method = "GET", body, signal } = call;
    this.#limit = options.maxResponseBytes ?? MAX_RESPONSE_BYTES;
    this.#silence = new Silence(options.clock, options.idleTimeoutMs, () =>
      this.#stop(
        new WireError("silent", `${printableUrl(url)} sent nothing for ${options.idleTimeoutMs} ms.`),
      ),
    );
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    this.#exchange = new Exchange(dispatcher, {
      origin,
      path: pathname + search,
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    this.#read = () => this.#exchange.read();
  }

  async answer(): Promise<Answer> {
    this.#silence.begin();
    try {
      const { status, headers } = await this.#exchange.head;
      this.#silence.end();
      const head = { status, headers };
      const error = statusError(head, this.url, this.options.clock.now());
      if (error !== undefined && (error.code !== "http_status" || !this.options.acceptStatus?.(head)))
        throw error;
      this.#decode(headers.get("content-encoding"));
      return {
        ...head,
        read: () => this.#next(),
        text: () => this.#text(status < 300),
        cancel: () => this.#stop("cancelled"),
      };
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** No encoding is asked for, but there are servers that do not care. */
  #decode(encoding: string | null): void {
    const decoder = decoderOf(encoding);
    if (decoder === undefined) return;
    const raw = this.#read;
    const encoded = async function* () {
      for (let chunk = await raw(); chunk !== undefined; chunk = await raw()) yield chunk;
    };
    const source = Readable.from(encoded(), { objectMode: false });
    source.on("error", (error) => decoder.destroy(error));
    // Nobody may be reading, or ever read: then no other listener is there, and the process would end.
    decoder.on("error", () => undefined);
    const chunks: AsyncIterator<Uint8Array> = source.pipe(decoder)[Symbol.asyncIterator]();
    this.#read = async () => {
      const next = await chunks.next();
      if (!next.done) return next.value;
      // What follows the end of the content is read by nobody.
      this.#exchange.abort("the content is complete");
      return undefined;
    };
  }

  async #next(): Promise<Uint8Array | undefined> {
    this.#silence.begin();
    try {
      const chunk = await this.#read();
      this.#silence.end();
      if (chunk === undefined) {
        this.#release();
        return undefined;
      }
      this.#received += chunk.byteLength;
      if (this.#received <= this.#limit) return chunk;
      throw new WireError("too_large", `${printableUrl(this.url)} sent more than ${this.#limit} bytes.`);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async #text(fatal: boolean): Promise<string> {
    const chunks: Uint8Array[] = [];
    for (let chunk = await this.#next(); chunk !== undefined; chunk = await this.#next()) chunks.push(chunk);
    try {
      return new TextDecoder("utf-8", { fatal }).decode(Buffer.concat(chunks));
    } catch (cause) {
      const text = `${printableUrl(this.url)} sent bytes that are not UTF-8.`;
      throw new WireError("malformed", text, { cause });
    }
  }

  #failed(error: unknown): unknown {
    const reason = connectionError(error, this.#stopped, this.url);
    this.#stop(reason);
    return reason;
  }

  #stop(reason: unknown): void {
    this.#stopped ??= { reason };
    this.#release();
    this.#exchange.abort(reason);
  }

  readonly #onAbort = () => this.#stop(this.call.signal?.reason);

  #release(): void {
    this.#silence.close();
    this.call.signal?.removeEventListener("abort", this.#onAbort);
  }
}

function decoderOf(encoding: string | null) {
  switch (encoding?.trim().toLowerCase()) {
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      return undefined;
  }
}

/** What a header may hold; RFC 9110, 5.5. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function merge(
  headers: Readonly<Record<string, string>>,
  credential: Readonly<Record<string, string>>,
): Record<string, string> {
  const merged: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) merged[name.toLowerCase()] = value;
  for (const [name, value] of Object.entries(credential)) {
    // undici's own error would quote the value.
    if (!HEADER_VALUE.test(value)) {
      throw new TypeError(
        "The credential of this origin cannot be an HTTP header: it holds characters that are not allowed.",
      );
    }
    merged[name.toLowerCase()] = value;
  }
  return merged;
}
