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
  #sending: Promise<unknown> | undefined;

  /** Whether a question waits. */
  get open(): boolean {
    return this.#answered !== undefined;
  }

  /** An answer is under way, or was taken and nobody has read on from it yet: what follows it is told by its own stream alone. */
  get hasAnswer(): boolean {
    return this.#sending !== undefined || this.#taken !== undefined;
  }

  /** Sends an answer. Meanwhile nothing else that the remote says counts, because the answer's stream repeats it. */
  async send(sending: Promise<Source>): Promise<void> {
    const settled = sending.then(
      // Whoever answered is told first, then what follows.
      (source) => new Promise<void>((resolve) => setImmediate(() => resolve(this.#deliver(source)))),
      () => undefined,
    );
    this.#sending = settled;
    void settled.then(() => {
      this.#sending = undefined;
    });
    await sending;
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

  #deliver(source: Source): void {
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
    const first = await Promise.race([next, this.#answered.then(() => undefined)]);
    await this.#sending;
    return (this.#taken as Source | undefined) === undefined ? first : undefined;
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
