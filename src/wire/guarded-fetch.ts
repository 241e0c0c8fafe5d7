import { reframe } from "./event-framing.js";
import {
  type Answer,
  createGuardedClient,
  type GuardedClient,
  type GuardedClientOptions,
} from "./guarded-client.js";
import { comparableOrigin } from "./origin.js";

/** Options of {@link createGuardedFetch}. */
export interface GuardedFetchOptions extends GuardedClientOptions {
  /**
   * When set, a `text/event-stream` body is parsed and framed anew: complete events only, LF, none larger than this, no comments,
   * no characters before the JSON that a JSON parser would choke on.
   */
  readonly maxEventBytes?: number;
  /** Looks at the data of each event, when `maxEventBytes` is set; what it throws ends the stream. */
  readonly checkEventData?: (data: string) => void;
}

/** A `fetch` that only goes where it may, and the client that it is made of. */
export interface GuardedFetch extends GuardedClient {
  readonly fetch: typeof fetch;
}

/** Statuses without a body. */
const BODILESS = new Set([204, 205, 304]);

/** A `fetch` over a guarded client, for libraries that want one. It rejects with what the client throws. */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const client = createGuardedClient(options);
  const guardedFetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input);
    // The platform's own error would come before the guard's.
    if (comparableOrigin(url) === undefined) return responseOf(await client.request(url), options);
    const request = new Request(input, { ...init, signal: null });
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    const answer = await client.request(url, {
      method: request.method,
      headers: Object.fromEntries(request.headers),
      ...(body === undefined ? {} : { body }),
      ...(init.signal == null ? {} : { signal: init.signal }),
    });
    return responseOf(answer, options);
  };
  return { ...client, fetch: guardedFetch as typeof fetch };
}

function responseOf(answer: Answer, options: GuardedFetchOptions): Response {
  const headers = new Headers();
  for (const [name, value] of answer.headers.entries()) headers.append(name, value);
  // The body has been decoded.
  headers.delete("content-encoding");
  headers.delete("content-length");
  const bodiless = BODILESS.has(answer.status);
  if (bodiless) answer.cancel();
  return new Response(bodiless ? null : bodyOf(answer, options), { status: answer.status, headers });
}

function bodyOf(
  answer: Answer,
  { maxEventBytes, checkEventData }: GuardedFetchOptions,
): ReadableStream<Uint8Array> {
  const isEvents = /^\s*text\/event-stream/i.test(answer.headers.get("content-type") ?? "");
  const transform =
    isEvents && maxEventBytes !== undefined ? reframe(maxEventBytes, checkEventData) : undefined;
  let fault: { readonly reason: unknown } | undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(target) {
        try {
          for (;;) {
            if (fault !== undefined) throw fault.reason;
            const bytes = await answer.read();
            if (bytes === undefined) return target.close();
            const out = transform ? transform(bytes, (reason) => (fault = { reason })) : bytes;
            if (out.byteLength > 0) return target.enqueue(out);
          }
        } catch (error) {
          answer.cancel();
          target.error(error);
        }
      },
      cancel: () => answer.cancel(),
    },
    { highWaterMark: 0 },
  );
}
