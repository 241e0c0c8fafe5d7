import { connectionError } from "./connection-error.js";
import { WireError } from "./errors.js";
import { printableUrl } from "./origin.js";
import { SseParser } from "./sse-reader.js";
import { formatSse } from "./sse-writer.js";

/** Aborts a call after a silence; runs only while somebody waits for bytes. */
export interface IdleTimer {
  start(): void;
  stop(): void;
}

/** How {@link guardBody} treats one body. */
export interface BodyGuard {
  readonly url: string;
  readonly maxBytes: number;
  /** Set for an event stream that is to be framed anew. */
  readonly maxEventBytes: number | undefined;
  readonly checkEventData: ((data: string) => void) | undefined;
  readonly idle: IdleTimer;
  /** Ends the call. */
  readonly controller: AbortController;
  /** Called once when the body is over. */
  onEnd(): void;
}

/** Wraps the body of a response: capped, watched for silence, read only when asked, with our own errors. */
export function guardBody(
  body: ReadableStream<Uint8Array> | null,
  guard: BodyGuard,
): ReadableStream<Uint8Array> | null {
  if (body === null) return null;
  const { url, idle, controller, onEnd } = guard;
  const reader = body.getReader();
  const transform =
    guard.maxEventBytes === undefined ? undefined : reframe(guard.maxEventBytes, guard.checkEventData);
  let received = 0;
  let fault: unknown;

  const read = async (): Promise<Uint8Array | undefined> => {
    idle.start();
    try {
      const next = await reader.read();
      if (next.done) return undefined;
      received += next.value.byteLength;
      if (received > guard.maxBytes) {
        throw new WireError("too_large", `${printableUrl(url)} sent more than ${guard.maxBytes} bytes.`);
      }
      return next.value;
    } finally {
      idle.stop();
    }
  };

  return new ReadableStream<Uint8Array>(
    {
      async pull(target) {
        try {
          if (fault !== undefined) throw fault;
          for (let bytes = await read(); bytes; bytes = await read()) {
            const out = transform ? transform(bytes, (error) => (fault = error)) : bytes;
            if (out.byteLength === 0) {
              if (fault !== undefined) throw fault;
              continue;
            }
            target.enqueue(out);
            return;
          }
          onEnd();
          target.close();
        } catch (error) {
          const reason = connectionError(error, controller.signal, url);
          onEnd();
          reader.cancel(reason).catch(() => undefined);
          controller.abort(reason);
          target.error(reason);
        }
      },
      cancel(reason) {
        onEnd();
        idle.stop();
        reader.cancel(reason).catch(() => undefined);
        controller.abort(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Some servers put a record separator (U+001E) or other controls in front of the JSON. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are the characters to remove
const LEADING_CONTROLS = /^[\u0000-\u0020\uFEFF]+(?=[{[])/;

/** `text` without the characters before its JSON that a JSON parser would choke on. */
export function withoutLeadingControls(text: string): string {
  const first = text.charCodeAt(0);
  return first === 0x7b || first === 0x5b ? text : text.replace(LEADING_CONTROLS, "");
}

/** Frames whole events anew. A fault is handed over apart, so that the events before it still go out. */
function reframe(maxEventBytes: number, check: BodyGuard["checkEventData"]) {
  const parser = new SseParser({ maxEventBytes });
  const encoder = new TextEncoder();
  return (bytes: Uint8Array, onFault: (error: unknown) => void): Uint8Array => {
    let frames = "";
    try {
      for (const event of parser.push(bytes)) {
        const data = withoutLeadingControls(event.data);
        check?.(data);
        frames += formatSse({ ...event, data });
      }
    } catch (error) {
      onFault(error);
    }
    return encoder.encode(frames);
  };
}
