import { type Clock, systemClock } from "../core/clock.js";
import { TroupeError } from "../core/errors.js";
import { WireError } from "../wire/errors.js";
import { createGuardedClient } from "../wire/guarded-client.js";
import { comparableOrigin, printableUrl } from "../wire/origin.js";
import { createRedactor } from "../wire/redact.js";
import { statusError } from "../wire/status-error.js";
import { type BatchOptions, BatchQueue, type Deliver } from "./batch-queue.js";
import { droppedEvent } from "./sideband-encoder.js";
import type { SidebandEvent, SidebandSink } from "./sideband-event.js";

/** Options of {@link httpSink}. */
export interface HttpSinkOptions extends BatchOptions {
  /** Where batches are posted; nothing is sent to any other origin. */
  readonly url: string;
  /** Of each request, credentials included. */
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the guarded client, for proxies and tests. Redirects are refused there, too. */
  readonly fetch?: typeof fetch;
}

/** Bytes of an answer, which nobody reads. */
const MAX_ANSWER_BYTES = 65_536;

/** Headers whose values are credentials. */
const CREDENTIAL = /auth|key|token|secret|password|cookie|credential|signature/i;

/** Sends one body. Rejects with a {@link WireError} when it was not taken. */
interface Poster {
  post(body: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** What a {@link Poster} works with. */
interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/**
 * Posts batches to an HTTP collector: `{"events": […]}`, each a {@link SidebandEvent}. A batch that fails in a way that may pass is
 * sent again, after what `Retry-After` asks; one that the collector refuses is dropped, and so are the oldest events when too many
 * wait. Credentials among `headers` are removed from what is sent.
 * @throws TroupeError `invalid_input` for a URL that is none of HTTP, and for headers that cannot be sent.
 */
export function httpSink(options: HttpSinkOptions): SidebandSink {
  const { url, headers = {}, fetch: ownFetch, ...batches } = options;
  const { timeoutMs = 10_000, clock = systemClock } = batches;
  if (comparableOrigin(url) === undefined)
    throw new TroupeError("invalid_input", "The sideband's url must be an absolute http or https URL.");
  requireHeaders(headers);
  const secrets = Object.entries(headers).flatMap(([name, value]) =>
    CREDENTIAL.test(name) ? secretsOf(value) : [],
  );
  const redact = createRedactor(secrets);
  const target = { url, headers, timeoutMs, clock };
  const poster = ownFetch === undefined ? guardedPoster(target) : fetchPoster(target, ownFetch);
  const deliver: Deliver<string> = async (batch, signal) => {
    const body = redact(`{"events":[${batch.join(",")}]}`);
    try {
      await poster.post(body, signal);
    } catch (error) {
      throw mayPass(error) ? repeatable(error) : error;
    }
  };
  const pack = (event: SidebandEvent) => {
    const packed = JSON.stringify(event);
    return { packed, characters: packed.length };
  };
  const queue = new BatchQueue(deliver, { pack, notice: droppedEvent }, batches);
  return {
    send: (event) => queue.add(event),
    async close() {
      await queue.close();
      await poster.close();
    },
  };
}

function guardedPoster({ url, headers, timeoutMs, clock }: Target): Poster {
  const client = createGuardedClient({
    clock,
    origins: [url],
    credential: () => headers,
    maxResponseBytes: MAX_ANSWER_BYTES,
    idleTimeoutMs: timeoutMs,
  });
  return {
    async post(body, signal) {
      const request = { method: "POST", headers: { "content-type": "application/json" }, body, signal };
      const answer = await client.request(url, request);
      try {
        // To its end, so that the connection can be used again.
        for (let bytes = await answer.read(); bytes !== undefined; ) bytes = await answer.read();
      } catch {
        // The batch was taken; how the answer ends changes nothing.
        answer.cancel();
      }
    },
    close: () => client.close(),
  };
}

function fetchPoster({ url, headers, clock }: Target, ownFetch: typeof fetch): Poster {
  return {
    async post(body, signal) {
      const init = { method: "POST", body, signal, redirect: "manual" } as const;
      let response: Response;
      try {
        response = await ownFetch(url, {
          ...init,
          headers: { "content-type": "application/json", ...headers },
        });
      } catch {
        // The platform's own text may quote what was sent.
        throw new WireError("interrupted", `No answer came from ${printableUrl(url)}.`);
      }
      await response.body?.cancel().catch(() => undefined);
      // In some platforms a redirect that was not followed has no status.
      const status = response.type === "opaqueredirect" ? 302 : response.status;
      const error = statusError({ status, headers: response.headers }, url, clock.now());
      if (error !== undefined) throw error;
    },
    close: async () => undefined,
  };
}

/** Whether the same batch may be taken later. */
function mayPass(error: unknown): error is WireError {
  if (!(error instanceof WireError)) return false;
  if (["unreachable", "overloaded", "silent", "interrupted"].includes(error.code)) return true;
  return error.status !== undefined && (error.status >= 500 || error.status === 408 || error.status === 425);
}

function repeatable(error: WireError): WireError {
  return error.retryable
    ? error
    : new WireError(error.code, error.message, { retryable: true, cause: error });
}

/** What the name and the value of a header may hold; RFC 9110, 5.1 and 5.5. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function requireHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (HEADER_NAME.test(name) && HEADER_VALUE.test(value)) continue;
    throw new TroupeError(
      "invalid_input",
      `The sideband's header "${name.slice(0, 64)}" cannot be sent: its name or value has characters that are not allowed.`,
    );
  }
}

/** A header's value, and the credential in it without its scheme. */
function secretsOf(value: string): string[] {
  const [, credential] = /^\S+ +(\S+)$/.exec(value) ?? [];
  return credential === undefined ? [value] : [value, credential];
}
