/** What a {@link LineSplitter} does with what it finds. */
export interface LineHandlers {
  /** A whole line without its line feed. */
  line(text: string): void;
  /** A line passed the limit; what follows of it is skipped. `bytes` is how much of it had been kept. */
  tooLong(bytes: number): void;
}

const LINE_FEED = 0x0a;

/**
 * Splits a byte stream into lines. Bytes are decoded per line, so a character that two chunks share stays whole. Bytes that are no
 * UTF-8 become U+FFFD.
 */
export class LineSplitter {
  readonly #handlers: LineHandlers;
  readonly #limit: number;
  #kept: Buffer[] = [];
  #size = 0;
  #skipping = false;

  /** @param limit bytes that one line may have. */
  constructor(limit: number, handlers: LineHandlers) {
    this.#limit = limit;
    this.#handlers = handlers;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
      this.#keep(chunk.subarray(from, at));
      this.#finish();
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  /** The stream is over: a last line without a line feed counts. */
  end(): void {
    if (this.#size > 0 || this.#skipping) this.#finish();
  }

  #keep(part: Buffer): void {
    if (part.length === 0 || this.#skipping) return;
    if (this.#size + part.length > this.#limit) {
      const bytes = this.#size;
      this.#kept = [];
      this.#size = 0;
      this.#skipping = true;
      this.#handlers.tooLong(bytes);
      return;
    }
    this.#kept.push(part);
    this.#size += part.length;
  }

  #finish(): void {
    if (this.#skipping) {
      this.#skipping = false;
      return;
    }
    const [first] = this.#kept;
    const text = (this.#kept.length === 1 && first ? first : Buffer.concat(this.#kept)).toString("utf8");
    this.#kept = [];
    this.#size = 0;
    this.#handlers.line(text);
  }
}
