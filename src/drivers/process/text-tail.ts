/** Keeps the last part of a text that grows. */
export class TextTail {
  readonly #limit: number;
  #text = "";
  #cut = false;

  /** @param limit characters that are kept. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  push(text: string): void {
    this.#text += text;
    if (this.#text.length > this.#limit) {
      this.#text = this.#text.slice(-this.#limit);
      this.#cut = true;
    }
  }

  /** What was kept, with an ellipsis in front when something is missing. */
  toString(): string {
    const text = this.#text.trim();
    return this.#cut && text !== "" ? `…${text}` : text;
  }
}
