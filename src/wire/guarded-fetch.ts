import { Agent, fetch as undiciFetch } from "undici";
import type { Clock } from "../core/clock.js";
import { connectionError } from "./connection-error.js";
import { WireError } from "./errors.js";
import { CONNECT_TIMEOUT_MS, MAX_RESPONSE_BYTES } from "./limits.js";
import { comparableOrigin, printableUrl } from "./origin.js";
import { guardBody, type IdleTimer } from "./response-body.js";
import { statusError } from "./status-error.js";

/** Options of {@link createGuardedFetch}. */
export interface GuardedFetchOptions {
  readonly clock: Clock;
  /** The only origins that may be called, as URLs or origins. `localhost`, `127.0.0.1` and `[::1]` with one port are one. */
  readonly origins: Iterable<string>;
  /** Headers with the credential; asked for each request, and sent only to `origins`. They win over the caller's. */
  readonly credential?: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** Bytes of a response body after decompression, streams too. Default {@link MAX_RESPONSE_BYTES}. */
  readonly maxResponseBytes?: number;
  /**
   * When set, a `text/event-stream` body is parsed and framed anew: complete events only, LF, none larger than this, no comments,
   * no characters before the JSON that a JSON parser would choke on.
   */
  readonly maxEventBytes?: number;
  /** Looks at the data of each event, when `maxEventBytes` is set; what it throws ends the stream. */
  readonly checkEventData?: (data: string) => void;
  /** Milliseconds until a connection stands. Default {@link CONNECT_TIMEOUT_MS}. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds without a byte, before the headers as well as in the body. Default: no limit. */
  readonly idleTimeoutMs?: number;
  /**
   * Lets a response through whose status is no success, because the caller reads its body. By default each becomes a
   * {@link WireError}; 401, 403, 407, 429, 502, 503, 504 and redirects always do.
   */
  readonly acceptStatus?: (response: Response) => boolean;
}

/** A `fetch` that only goes where it may. */
export interface GuardedFetch {
  readonly fetch: typeof fetch;
  /** Ends every connection; calls that are under way fail. */
  close(): Promise<void>;
}

/** Statuses without a body. */
const BODILESS = new Set([204, 205, 304]);

/**
 * A `fetch` for calls to programs that are not trusted: origins are checked before anything is sent, redirects are refused (they
 * would carry the body and API keys elsewhere), bodies are capped, and undici's own limit of 300 s on silence is off.
 *
 * It rejects with {@link WireError}, or with the signal's reason when the caller aborts.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const allowed = new Set<string>();
  for (const origin of options.origins) {
    const comparable = comparableOrigin(origin);
    if (comparable !== undefined) allowed.add(comparable);
  }
  const dispatcher = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS },
  });

  const guardedFetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input);
    const origin = comparableOrigin(url);
    if (origin === undefined || !allowed.has(origin)) {
      throw new WireError(
        "origin_refused",
        `${printableUrl(url)} is not among the origins that may be called; nothing was sent.`,
      );
    }
    const request = new Request(input, { ...init, signal: null });
    for (const [name, value] of Object.entries((await options.credential?.()) ?? {})) {
      setCredential(request.headers, name, value);
    }
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    return send(url, request, body, init.signal ?? undefined);
  };

  const send = async (
    url: string,
    request: Request,
    body: Uint8Array | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> => {
    signal?.throwIfAborted();
    // Its own controller for each call: a listener on a long-lived signal is removed when the call is over.
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const release = () => signal?.removeEventListener("abort", abort);
    const idle = idleTimer(options.clock, options.idleTimeoutMs, url, controller);
    idle.start();
    try {
      const answer = await undiciFetch(url, {
        method: request.method,
        headers: [...request.headers],
        ...(body === undefined ? {} : { body }),
        redirect: "manual",
        signal: controller.signal,
        dispatcher,
      });
      idle.stop();
      const stream = answer.body as ReadableStream<Uint8Array> | null;
      const guarded = guardBody(stream, {
        url,
        maxBytes: options.maxResponseBytes ?? MAX_RESPONSE_BYTES,
        maxEventBytes: isEventStream(answer.headers.get("content-type")) ? options.maxEventBytes : undefined,
        checkEventData: options.checkEventData,
        idle,
        controller,
        onEnd: release,
      });
      // undici has decoded the body already.
      const headers = new Headers([...answer.headers]);
      headers.delete("content-encoding");
      headers.delete("content-length");
      const response = new Response(BODILESS.has(answer.status) ? null : guarded, {
        status: answer.status,
        statusText: answer.statusText,
        headers,
      });
      const error = statusError(response, url, options.clock.now());
      if (error && (error.code !== "http_status" || !options.acceptStatus?.(response))) {
        controller.abort(error);
        throw error;
      }
      if (guarded === null || response.body === null) release();
      return response;
    } catch (error) {
      idle.stop();
      release();
      throw connectionError(error, controller.signal, url);
    }
  };

  return {
    fetch: guardedFetch as typeof fetch,
    close: () => dispatcher.destroy(),
  };
}

function idleTimer(
  clock: Clock,
  limit: number | undefined,
  url: string,
  controller: AbortController,
): IdleTimer {
  let stop = () => {};
  return {
    start() {
      stop();
      if (limit === undefined) return;
      const timer = clock.timer(limit, () => {
        controller.abort(new WireError("silent", `${printableUrl(url)} sent nothing for ${limit} ms.`));
      });
      stop = () => timer.cancel();
    },
    stop: () => stop(),
  };
}

/** The platform's own error would quote the value. */
function setCredential(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    throw new TypeError(
      "The credential of this origin cannot be an HTTP header: it holds characters that are not allowed.",
    );
  }
}

function isEventStream(contentType: string | null): boolean {
  return contentType?.trim().toLowerCase().startsWith("text/event-stream") ?? false;
}
