import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";

/** What is asked. Names of headers in lower case. */
export interface ExchangeRequest {
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** How an answer begins. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: AnswerHeaders;
}

/** Headers of an answer. */
export interface AnswerHeaders {
  get(name: string): string | null;
  entries(): Iterable<[string, string]>;
}

/** Bytes that wait for their reader before the sender has to. */
const BUFFERED = 65_536;

/** Chunks that were read and are let go of together. */
const DROPPED_AT_ONCE = 1_024;

/**
 * One HTTP request and its answer, read when asked. As thin over undici as can be: a call pays neither for the objects of `fetch`
 * nor for a stream.
 */
export class Exchange {
  /** Rejects with the connection's error, or the reason of {@link abort}. */
  readonly head: Promise<AnswerHead>;
  #controller: Dispatcher.DispatchController | undefined;
  #chunks: Uint8Array[] = [];
  /** How many of the chunks are read; to shift each off would take as long as there are others behind it. */
  #taken = 0;
  #buffered = 0;
  #ended = false;
  #failure: { readonly reason: unknown } | undefined;
  #wake: () => void = () => undefined;
  #refuseHead: (reason: unknown) => void = () => undefined;

  constructor(dispatcher: Dispatcher, request: ExchangeRequest) {
    let answer: (head: AnswerHead) => void = () => undefined;
    this.head = new Promise((resolve, reject) => {
      answer = resolve;
      this.#refuseHead = reject;
    });
    this.head.catch(() => undefined);
    const { origin, path, method, headers, body } = request;
    dispatcher.dispatch(
      {
        origin,
        path,
        method: method as Dispatcher.HttpMethod,
        headers: { ...headers },
        body: body ?? null,
        // Silence is looked after by who reads.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      {
        onRequestStart: (controller) => {
          this.#controller = controller;
          if (this.#failure !== undefined) controller.abort(asError(this.#failure.reason));
        },
        onResponseStart: (_controller, status, names) => {
          // 100 to 199 only announce.
          if (status >= 200) answer({ status, headers: headersOf(names) });
        },
        onResponseData: (controller, chunk) => {
          this.#chunks.push(chunk);
          this.#buffered += chunk.byteLength;
          if (this.#buffered >= BUFFERED) controller.pause();
          this.#wake();
        },
        onResponseEnd: () => {
          this.#ended = true;
          this.#wake();
        },
        onResponseError: (_controller, error) => this.#fail(error),
      },
    );
  }

  /**
   * The next bytes of the body; `undefined` at its end.
   * @throws the connection's error, or the reason of {@link abort}.
   */
  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#chunks[this.#taken];
      if (chunk !== undefined) {
        if (++this.#taken === DROPPED_AT_ONCE) {
          this.#chunks.splice(0, this.#taken);
          this.#taken = 0;
        }
        this.#buffered -= chunk.byteLength;
        return chunk;
      }
      this.#chunks = [];
      this.#taken = 0;
      if (this.#failure !== undefined) throw this.#failure.reason;
      if (this.#ended) return undefined;
      // Before anything is asked for: what is there already comes at once.
      const more = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      if (this.#controller?.paused) this.#controller.resume();
      await more;
    }
  }

  /** Ends the exchange and its connection, unless it is over. */
  abort(reason: unknown): void {
    if (this.#ended || this.#failure !== undefined) return;
    this.#chunks = [];
    this.#fail(reason);
    this.#controller?.abort(asError(reason));
  }

  #fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.#refuseHead(reason);
    this.#wake();
  }
}

function headersOf(names: IncomingHttpHeaders): AnswerHeaders {
  return {
    get: (name) => headerValue(names[name.toLowerCase()]),
    *entries() {
      for (const [name, value] of Object.entries(names)) {
        for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) yield [name, one];
      }
    },
  };
}

function headerValue(value: string | string[] | undefined): string | null {
  return Array.isArray(value) ? value.join(", ") : (value ?? null);
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error("aborted");
}
