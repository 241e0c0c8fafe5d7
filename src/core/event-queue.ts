import { continuesText, deltaOf, withDelta } from "./delta.js";

/**
 * Hands events from a producer that never waits to one reader that may be slow. While the reader is behind, adjacent deltas of
 * one text are merged, so the queue is bounded by the text itself.
 */
export class EventQueue<Event extends object> implements AsyncIterable<Event> {
  #events: Event[] = [];
  #pieces: string[] = [];
  #closed = false;
  #wake: (() => void) | undefined;

  push(event: Event): void {
    if (this.#closed) return;
    const last = this.#events.at(-1);
    const delta = deltaOf(event);
    if (last !== undefined && delta !== undefined && continuesText(last, event)) this.#pieces.push(delta);
    else {
      this.#seal();
      this.#events.push(event);
    }
    this.#wake?.();
  }

  /** No more events: a reader gets what is left, then the end. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    for (;;) {
      this.#seal();
      const batch = this.#events;
      this.#events = [];
      yield* batch;
      if (this.#events.length > 0) continue;
      if (this.#closed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  #seal(): void {
    const last = this.#events.at(-1);
    if (this.#pieces.length === 0 || last === undefined) return;
    this.#events[this.#events.length - 1] = withDelta(last, (deltaOf(last) ?? "") + this.#pieces.join(""));
    this.#pieces = [];
  }
}
