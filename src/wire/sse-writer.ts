import type { Clock, Timer } from "../core/clock.js";
import { HEARTBEAT_MS, PADDED_HEARTBEAT_BYTES } from "./limits.js";

/** What {@link formatSse} writes. */
export interface SseFrame {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

/**
 * One server-sent event, LF only.
 * @throws TypeError when `id` or `event` holds CR, LF or NUL: it would forge other fields.
 */
export function formatSse(frame: SseFrame): string {
  let text = "";
  if (frame.id !== undefined) text += `id: ${oneLine("id", frame.id)}\n`;
  if (frame.event !== undefined) text += `event: ${oneLine("event", frame.event)}\n`;
  for (const line of frame.data.split(/\r\n|\r|\n/)) text += `data: ${line}\n`;
  return `${text}\n`;
}

/** A comment, which readers ignore. `minimumBytes` pads it with spaces. */
export function formatSseComment(text: string, minimumBytes = 0): string {
  return `: ${oneLine("comment", text).padEnd(minimumBytes)}\n\n`;
}

/** Options of {@link sseResponse}. */
export interface SseResponseOptions {
  readonly clock: Clock;
  /** Milliseconds of silence before a comment is sent. Default {@link HEARTBEAT_MS}. */
  readonly heartbeatMs?: number;
  /** Fills each heartbeat up to 2 KB, for proxies that hold back small pieces. Default `false`. */
  readonly padHeartbeat?: boolean;
  /** Ends the response when it aborts. */
  readonly signal?: AbortSignal;
  /**
   * Called once when the response is over, whoever ended it. A source that waits for something cannot be returned before it
   * wakes: end its wait here.
   */
  readonly onClose?: () => void;
}

/** The headers of every event stream: no cache, no transformation, no buffering by a proxy. */
const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/**
 * A response that streams the frames of `source`, which are formatted already. The next frame is taken only when the reader asks
 * for one, so a slow reader holds back the source and nothing piles up. The source is returned when the reader leaves.
 */
export function sseResponse(source: AsyncIterable<string>, options: SseResponseOptions): Response {
  return new Response(frameStream(source, options), { status: 200, headers: HEADERS });
}

function frameStream(source: AsyncIterable<string>, options: SseResponseOptions): ReadableStream<Uint8Array> {
  const { clock, heartbeatMs = HEARTBEAT_MS, signal, onClose } = options;
  const heartbeat = formatSseComment("hb", options.padHeartbeat ? PADDED_HEARTBEAT_BYTES : 0);
  const encoder = new TextEncoder();
  const iterator = source[Symbol.asyncIterator]();
  let pending: Promise<IteratorResult<string>> | undefined;
  let timer: Timer | undefined;
  let over = false;

  const finish = () => {
    if (over) return;
    over = true;
    timer?.cancel();
    signal?.removeEventListener("abort", abort);
    // Not awaited: a generator that waits is returned only when it wakes.
    Promise.resolve(iterator.return?.()).catch(() => undefined);
    onClose?.();
  };
  let abort = finish;

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        abort = () => {
          if (over) return;
          finish();
          controller.close();
        };
        if (signal?.aborted) abort();
        else signal?.addEventListener("abort", abort, { once: true });
      },
      async pull(controller) {
        pending ??= iterator.next();
        const silence = new Promise<"silence">((resolve) => {
          timer = clock.timer(heartbeatMs, () => resolve("silence"));
        });
        try {
          const next = await Promise.race([pending, silence]);
          timer?.cancel();
          if (over) return;
          if (next === "silence") {
            controller.enqueue(encoder.encode(heartbeat));
            return;
          }
          pending = undefined;
          if (next.done) {
            finish();
            controller.close();
          } else {
            controller.enqueue(encoder.encode(next.value));
          }
        } catch (error) {
          timer?.cancel();
          if (over) return;
          finish();
          controller.error(error);
        }
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );
}

function oneLine(field: string, value: string): string {
  if (/[\r\n\0]/.test(value)) throw new TypeError(`An SSE ${field} must not hold a line break or NUL.`);
  return value;
}
