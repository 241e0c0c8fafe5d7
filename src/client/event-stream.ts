import { type Clock, sleep, systemClock } from "../core/clock.js";
import { errorText, TroupeError } from "../core/errors.js";
import type { Cursor } from "../journal/journal.js";
import { HEARTBEAT_MS } from "../wire/limits.js";
import { readSse } from "../wire/sse-reader.js";
import { CatchUp } from "./catch-up.js";
import { ClientError, errorOfResponse } from "./client-error.js";
import { compareCursors, toCursor } from "./cursor.js";
import { globalFetch, type HeadersSource, headersNow, hostUrl, send, untilAborted } from "./request.js";
import { SilenceTimer } from "./silence-timer.js";
import type { StreamState } from "./stream-state.js";

/** One AG-UI event as it came; only `type` is certain. */
export interface AgUiEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** One event of a thread. `cursor` is its place in the thread's order; a frame without one cannot be resumed from. */
export interface ThreadFrame {
  readonly cursor?: Cursor;
  readonly event: AgUiEvent;
}

/** Options of {@link streamThread}. */
export interface ThreadStreamOptions {
  /** Address of the host, e.g. `http://127.0.0.1:4100`; may have a path. */
  readonly baseUrl: string;
  readonly threadId: string;
  /** Only what follows this cursor. Default: from the beginning. */
  readonly after?: Cursor;
  readonly fetch?: typeof fetch;
  readonly headers?: HeadersSource;
  readonly clock?: Clock;
  /** Ends the stream without an error. */
  readonly signal?: AbortSignal;
  /** Told of every change of the connection. Must not throw. */
  readonly onState?: (state: StreamState) => void;
  /** From 0 up to 1; spreads the reconnects of many clients. Default `Math.random`. */
  readonly random?: () => number;
}

/** Two and a half heartbeats missing means that nobody is there. */
const SILENCE_MS = 2.5 * HEARTBEAT_MS;
const FIRST_BACKOFF_MS = 250;
const LAST_BACKOFF_MS = 5_000;
/** Longest wait that a host's Retry-After may ask for. */
const RETRY_AFTER_LIMIT_MS = 60_000;
/** One event may carry the merged text of a whole message. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;

/**
 * Reads a thread for ever, across its runs: first what happened, then what happens. A lost connection is made again and goes on
 * after the last cursor; every event with a cursor is delivered exactly once and in order, whatever the host sends again.
 * Events are read only as fast as they are asked for. Stop by leaving the loop, or by `signal`.
 * @throws ClientError when it is useless to try again: `unauthorized`, `forbidden`, `not_found`, `invalid_input`, `conflict`, `protocol_error`.
 */
export async function* streamThread(
  options: ThreadStreamOptions,
): AsyncGenerator<ThreadFrame, void, undefined> {
  const clock = options.clock ?? systemClock;
  const report = options.onState ?? (() => undefined);
  let last = options.after;
  let attempt = 0;
  let ending: StreamState = { status: "ended" };
  report({ status: "connecting" });
  try {
    while (!options.signal?.aborted) {
      let failure: unknown;
      try {
        for await (const frame of readConnection(options, clock, last, report)) {
          if (frame.cursor !== undefined) {
            // A gap stands for entries that are gone, and may carry the cursor that was asked for.
            if (last !== undefined && compareCursors(frame.cursor, last) <= 0 && !isGap(frame.event))
              continue;
            if (last === undefined || compareCursors(frame.cursor, last) > 0) last = frame.cursor;
          }
          attempt = 0;
          yield frame;
        }
        failure = new ClientError("unreachable", "The host closed the stream.");
      } catch (error) {
        failure = error;
      }
      if (options.signal?.aborted) return;
      if (failure instanceof ClientError && !failure.retryable) {
        ending = { status: "ended", error: failure };
        throw failure;
      }
      attempt += 1;
      report({
        status: "reconnecting",
        ...(last !== undefined && { from: last }),
        attempt,
        reason: errorText(failure, 200),
      });
      await sleep(clock, backoff(attempt, failure, options.random ?? Math.random), options.signal);
    }
  } finally {
    report(ending);
  }
}

/** One connection, from the request to its end. */
async function* readConnection(
  options: ThreadStreamOptions,
  clock: Clock,
  after: Cursor | undefined,
  report: (state: StreamState) => void,
): AsyncGenerator<ThreadFrame, void, undefined> {
  const connection = new AbortController();
  const leave = () => connection.abort(options.signal?.reason);
  options.signal?.addEventListener("abort", leave, { once: true });
  const silence = new SilenceTimer(clock, SILENCE_MS, () =>
    connection.abort(
      new ClientError("unreachable", `Nothing was heard from the host for ${SILENCE_MS / 1000} seconds.`),
    ),
  );
  let catchUp: CatchUp | undefined;
  try {
    silence.begin();
    const response = await open(options, after, connection.signal);
    silence.end();
    catchUp = new CatchUp(clock, hostTime(response) ?? clock.now(), report);
    const bytes = chunks(response, connection.signal, [silence, catchUp]);
    for await (const { id, data } of readSse(bytes, { maxEventBytes: MAX_EVENT_BYTES })) {
      const event = parseEvent(data);
      catchUp.event(event.timestamp);
      const cursor = toCursor(id);
      yield cursor === undefined ? { event } : { cursor, event };
    }
  } catch (error) {
    // The reader's size cap: the same event would break every connection.
    if (error instanceof TroupeError && !(error instanceof ClientError)) {
      throw new ClientError("protocol_error", error.message, { cause: error });
    }
    throw error;
  } finally {
    silence.cancel();
    catchUp?.close();
    options.signal?.removeEventListener("abort", leave);
    connection.abort();
  }
}

async function open(
  options: ThreadStreamOptions,
  after: Cursor | undefined,
  signal: AbortSignal,
): Promise<Response> {
  const headers = {
    ...(await untilAborted(headersNow(options.headers), signal)),
    accept: "text/event-stream",
    ...(after !== undefined && { "last-event-id": after }),
  };
  const url = hostUrl(
    options.baseUrl,
    `/threads/${encodeURIComponent(options.threadId)}/events?subagents=custom`,
  );
  const response = await send(options.fetch ?? globalFetch, url, { headers, cache: "no-store" }, signal);
  if (!response.ok) throw await errorOfResponse(response);
  if (!response.headers.get("content-type")?.toLowerCase().startsWith("text/event-stream")) {
    throw new ClientError("protocol_error", "The address answered, but not with an event stream.", {
      status: response.status,
    });
  }
  return response;
}

/** A part that wants to know when the reader waits for bytes and when it has some. */
interface WaitObserver {
  begin(): void;
  end(): void;
}

async function* chunks(
  response: Response,
  signal: AbortSignal,
  observers: readonly WaitObserver[],
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = response.body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      for (const observer of observers) observer.begin();
      const { done, value } = await untilAborted(reader.read(), signal);
      for (const observer of observers) observer.end();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** When the host answered, by its own clock; whole seconds. */
function hostTime(response: Response): number | undefined {
  const time = Date.parse(response.headers.get("date") ?? "");
  return Number.isNaN(time) ? undefined : time;
}

/** An event that cannot be read takes its place in the order as a notice, so that it is not lost without a word. */
function parseEvent(data: string): AgUiEvent {
  try {
    const event: unknown = JSON.parse(data);
    if (
      typeof event === "object" &&
      event !== null &&
      typeof (event as { type?: unknown }).type === "string"
    ) {
      return event as AgUiEvent;
    }
  } catch {
    // Falls through to the notice.
  }
  return {
    type: "CUSTOM",
    name: "notice",
    value: {
      level: "warning",
      code: "unreadable_event",
      message: "The host sent an event that could not be read.",
    },
  };
}

function isGap(event: AgUiEvent): boolean {
  return event.type === "CUSTOM" && event.name === "stream.gap";
}

function backoff(attempt: number, failure: unknown, random: () => number): number {
  const full = Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(attempt - 1, 10));
  const jittered = full * (0.5 + random() / 2);
  const asked = failure instanceof ClientError ? (failure.retryAfterMs ?? 0) : 0;
  return Math.max(jittered, Math.min(asked, RETRY_AFTER_LIMIT_MS));
}
