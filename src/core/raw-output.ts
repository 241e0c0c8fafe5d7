/** Keeps the last part of a program's output, for people who look for the cause of a failure. */
export class RawOutput {
  #chunks: string[] = [];
  #length = 0;
  #dropped = false;

  /** @param limit characters that are kept. */
  constructor(readonly limit = 1_048_576) {}

  add(text: string): void {
    this.#chunks.push(text);
    this.#length += text.length;
    while (this.#length > this.limit && this.#chunks.length > 1) {
      this.#length -= this.#chunks.shift()?.length ?? 0;
      this.#dropped = true;
    }
  }

  toString(): string {
    const text = this.#chunks.join("");
    if (text.length <= this.limit) return this.#dropped ? `[earlier output dropped]\n${text}` : text;
    return `[earlier output dropped]\n${text.slice(-this.limit)}`;
  }
}
