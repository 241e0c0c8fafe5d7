import { WireError } from "./errors.js";
import { MAX_EVENT_BYTES } from "./limits.js";

/** One server-sent event, as the WHATWG specification (9.2.6) parses it. */
export interface SseEvent {
  /** The last `id` field since the previous event; absent when there was none. */
  readonly id?: string;
  /** The `event` field; absent means `message`. */
  readonly event?: string;
  /** The `data` lines, joined with LF. */
  readonly data: string;
  /** The last `retry` field since the previous event, in milliseconds. */
  readonly retry?: number;
}

/** Options of {@link SseParser} and {@link readSse}. */
export interface SseReaderOptions {
  /** Bytes that one line, and the data of one event, may have. Default {@link MAX_EVENT_BYTES}. */
  readonly maxEventBytes?: number;
  /** Called with the text of each comment line: a sign of life that carries nothing else. */
  readonly onComment?: (text: string) => void;
}

/** Bytes of a buffer that is worth being kept for the next line. */
const KEPT_BUFFER = 65_536;

const LF = 0x0a;
const CR = 0x0d;

/**
 * Parses server-sent events from bytes that arrive in pieces. Lines are split before they are decoded, so a character may be cut
 * anywhere. An event that the end of the stream cuts off is never delivered.
 */
export class SseParser {
  readonly #maxEventBytes: number;
  readonly #onComment: ((text: string) => void) | undefined;
  // Lines are decoded one by one: with `ignoreBOM: false` a BOM would be stripped from every line, not only the first.
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** The beginning of a line that goes on, in one buffer that doubles: a list of pieces could be a list of single bytes. */
  #begun = new Uint8Array();
  #lineBytes = 0;
  #dataBytes = 0;
  #firstLine = true;
  #skipLineFeed = false;
  #data: string[] = [];
  #event: string | undefined;
  #id: string | undefined;
  #retry: number | undefined;

  constructor(options: SseReaderOptions = {}) {
    this.#maxEventBytes = options.maxEventBytes ?? MAX_EVENT_BYTES;
    this.#onComment = options.onComment;
  }

  /**
   * Takes the next bytes and gives the events that they complete. The result must be iterated to its end: bytes are taken while
   * it is, so that events before a fault are given before it is thrown.
   * @throws WireError `too_large`, or `malformed` when a line is not UTF-8. The parser is of no use afterwards.
   */
  *push(bytes: Uint8Array): Generator<SseEvent, void, undefined> {
    // What began before, and the very first line, are looked at byte by byte.
    const begun = this.#firstLine || this.#skipLineFeed || this.#lineBytes > 0;
    const from = begun ? bytes.indexOf(LF) + 1 : 0;
    if (from > 0) yield* this.#lines(bytes.subarray(0, from));
    const rest = bytes.subarray(from);
    const whole = rest.lastIndexOf(LF) + 1;
    const text = begun && from === 0 ? undefined : this.#decoded(rest.subarray(0, whole));
    if (text === undefined) {
      yield* this.#lines(rest);
      return;
    }
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      const event = this.#line(text.slice(start, end));
      start = end + 1;
      if (event) yield event;
    }
    yield* this.#lines(rest.subarray(whole));
  }

  /** Many lines at once; `undefined` when they have to be looked at one by one, to find which of them is wrong. */
  #decoded(lines: Uint8Array): string | undefined {
    if (lines.length > this.#maxEventBytes || lines.includes(CR)) return undefined;
    try {
      return this.#decoder.decode(lines);
    } catch {
      return undefined;
    }
  }

  *#lines(bytes: Uint8Array): Generator<SseEvent, void, undefined> {
    let start = 0;
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index];
      if (byte !== LF && byte !== CR) continue;
      if (byte === LF && this.#skipLineFeed && index === start) {
        // The second half of CRLF.
        this.#skipLineFeed = false;
        start = index + 1;
        continue;
      }
      const line = this.#takeLine(bytes.subarray(start, index));
      start = index + 1;
      this.#skipLineFeed = byte === CR;
      const event = this.#line(line);
      if (event) yield event;
    }
    if (start < bytes.length) {
      this.#skipLineFeed = false;
      this.#hold(bytes.subarray(start));
    }
  }

  #hold(piece: Uint8Array): void {
    const before = this.#lineBytes;
    this.#lineBytes += piece.length;
    if (this.#lineBytes > this.#maxEventBytes) throw tooLarge(this.#maxEventBytes);
    if (this.#lineBytes > this.#begun.length) {
      const larger = new Uint8Array(Math.max(this.#lineBytes, 2 * this.#begun.length));
      larger.set(this.#begun.subarray(0, before));
      this.#begun = larger;
    }
    // Copied: the caller may reuse its buffer.
    this.#begun.set(piece, before);
  }

  #takeLine(end: Uint8Array): string {
    if (end.length > this.#maxEventBytes) throw tooLarge(this.#maxEventBytes);
    let line = end;
    if (this.#lineBytes > 0) {
      this.#hold(end);
      line = this.#begun.subarray(0, this.#lineBytes);
    }
    // A large one was an exception; a small one serves the next line as well.
    if (this.#begun.length > KEPT_BUFFER) this.#begun = new Uint8Array();
    this.#lineBytes = 0;
    let text: string;
    try {
      text = this.#decoder.decode(line);
    } catch (cause) {
      throw new WireError("malformed", "The event stream holds bytes that are not UTF-8.", { cause });
    }
    if (this.#firstLine) {
      this.#firstLine = false;
      if (text.startsWith("\uFEFF")) return text.slice(1);
    }
    return text;
  }

  #line(line: string): SseEvent | undefined {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) {
      this.#onComment?.(line.slice(1).trim());
      return undefined;
    }
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    switch (field) {
      case "data":
        // At least as many bytes as UTF-16 units; the exact limit on bytes is the line's.
        this.#dataBytes += value.length + 1;
        if (this.#dataBytes > this.#maxEventBytes + 1) throw tooLarge(this.#maxEventBytes);
        this.#data.push(value);
        break;
      case "event":
        // Nobody names an event so, and it could not be written again.
        if (!value.includes("\0")) this.#event = value;
        break;
      case "id":
        if (!value.includes("\0")) this.#id = value;
        break;
      case "retry":
        if (/^\d{1,15}$/.test(value)) this.#retry = Number(value);
        break;
    }
    return undefined;
  }

  #dispatch(): SseEvent | undefined {
    const type = this.#event;
    this.#event = undefined;
    if (this.#data.length === 0) return undefined;
    const event: SseEvent = {
      ...(this.#id === undefined ? {} : { id: this.#id }),
      ...(type ? { event: type } : {}),
      data: this.#data.join("\n"),
      ...(this.#retry === undefined ? {} : { retry: this.#retry }),
    };
    this.#data = [];
    this.#dataBytes = 0;
    this.#id = undefined;
    this.#retry = undefined;
    return event;
  }
}

/**
 * Reads the events of `body` until it ends. Returning early cancels it.
 * @throws WireError `too_large` or `malformed`; errors of `body` pass through unchanged.
 */
export async function* readSse(
  body: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
  options: SseReaderOptions = {},
): AsyncGenerator<SseEvent, void, undefined> {
  const parser = new SseParser(options);
  for await (const bytes of "getReader" in body ? chunks(body) : body) yield* parser.push(bytes);
}

/** Browsers cannot iterate a `ReadableStream` everywhere, so it is read by hand. */
async function* chunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}

function tooLarge(limit: number): WireError {
  return new WireError("too_large", `One event of the stream is larger than ${limit} bytes.`);
}
