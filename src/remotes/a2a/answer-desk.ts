import { type Clock, sleep } from "../../core/clock.js";
import type { Delivery } from "./channel.js";

/** Deliveries of one request, the first perhaps taken already. */
export interface Source {
  readonly events: AsyncGenerator<Delivery, void, undefined>;
  readonly first?: Delivery;
  /** A subscription; its first event should be the task. */
  readonly resumed?: boolean;
}

/** Where the answer to a remote's question is handed to whoever follows the task. */
export class AnswerDesk {
  /** Resolves when an answer was taken; there while a question waits. */
  #answered: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  #taken: Source | undefined;

  /** Whether a question waits. */
  get open(): boolean {
    return this.#answered !== undefined;
  }

  /** An answer was taken that nobody has read on from yet. */
  get hasAnswer(): boolean {
    return this.#taken !== undefined;
  }

  /** Says whether a question waits. It must not stay open longer: every event would add to the promise. */
  set(open: boolean): void {
    if (!open) this.#answered = undefined;
    else if (this.#answered === undefined) {
      this.#answered = new Promise((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** The remote took the answer; `source` is what follows. */
  deliver(source: Source): void {
    this.#taken = source;
    this.#wake?.();
    this.#answered = undefined;
  }

  /** What follows the answer, once. */
  take(): Source | undefined {
    const taken = this.#taken;
    this.#taken = undefined;
    return taken;
  }

  /** The next event; `undefined` when an answer was taken first. */
  async next(
    events: AsyncGenerator<Delivery, void, undefined>,
  ): Promise<IteratorResult<Delivery, void> | undefined> {
    if (this.#taken !== undefined) return undefined;
    if (this.#answered === undefined) return events.next();
    const next = events.next();
    next.catch(() => undefined);
    return Promise.race([next, this.#answered.then(() => undefined)]);
  }

  /** Waits, but no longer than until an answer is taken or `signal` aborts. */
  async pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const abort = () => over.abort();
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      const pause = sleep(clock, milliseconds, over.signal);
      await (this.#answered === undefined ? pause : Promise.race([this.#answered, pause]));
    } finally {
      signal.removeEventListener("abort", abort);
      over.abort();
    }
  }
}
