import { type Clock, sleep, systemClock, type Timer } from "../core/clock.js";
import { errorText, TroupeError } from "../core/errors.js";

/** How batches are made and sent. */
export interface BatchOptions {
  /** Events of one batch at most. Default 100. */
  readonly batchSize?: number;
  /** How long an event waits for others to share its batch, in milliseconds. Default 1,000. */
  readonly flushMs?: number;
  /** Events that wait at most; beyond it the oldest are dropped. Default 10,000. */
  readonly maxQueued?: number;
  /** Characters of JSON that wait at most; beyond it the oldest events are dropped. Default 16 million. */
  readonly maxQueuedCharacters?: number;
  /** Attempts after the first one; then the batch is dropped. Default 5. */
  readonly retries?: number;
  /** Milliseconds of one attempt. Default 10,000. */
  readonly timeoutMs?: number;
  /** How long the host's end waits for what is left to be sent, in milliseconds. Default 5,000. */
  readonly closeMs?: number;
  /** Told when events begin to be lost, and how many were, once they are not any more. Default: the host's log. */
  readonly onProblem?: (text: string) => void;
  readonly clock?: Clock;
}

/** Milliseconds before the first repetition; doubled each time, up to the longest. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** The longest `Retry-After` that is waited for; what comes meanwhile has only so much room. */
const LONGEST_WAIT_MS = 300_000;

/** How a queue keeps events. */
export interface Packing<Event, Packed> {
  /** What is kept of an event, and how many characters it takes; must not throw. */
  readonly pack: (event: Event) => { readonly packed: Packed; readonly characters: number };
  /** The event that tells how many others were dropped. */
  readonly notice: (dropped: number, time: number) => Event;
}

interface Queued<Packed> {
  readonly packed: Packed;
  readonly characters: number;
}

interface Batch<Packed> {
  readonly events: readonly Packed[];
  /** How many its first event tells of; 0 when it is one like all others. */
  readonly dropped: number;
}

/** Sends one batch. Rejects with a {@link TroupeError} that is not `retryable` when another attempt is pointless. */
export type Deliver<Packed> = (batch: readonly Packed[], signal: AbortSignal) => Promise<void>;

/**
 * Collects events into batches and sends one after the other. Adding one costs its JSON, never waits and never throws; memory is
 * bounded by what may wait. Of what had to be dropped, a single event tells in the next batch.
 */
export class BatchQueue<Event, Packed> {
  #waiting: (Queued<Packed> | undefined)[] = [];
  /** How many of the first are gone already: to shift each off would take as long as there are others behind it. */
  #taken = 0;
  #characters = 0;
  #dropped = 0;
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;
  #failing = false;
  readonly #closing = new AbortController();
  readonly #abort = new AbortController();
  readonly #options: Required<BatchOptions>;

  /** @throws TypeError for a number that makes no sense. */
  constructor(
    private readonly deliver: Deliver<Packed>,
    private readonly packing: Packing<Event, Packed>,
    options: BatchOptions,
  ) {
    this.#options = {
      batchSize: 100,
      flushMs: 1_000,
      maxQueued: 10_000,
      maxQueuedCharacters: 16_000_000,
      retries: 5,
      timeoutMs: 10_000,
      closeMs: 5_000,
      onProblem: (text) => console.error(text),
      clock: systemClock,
      ...options,
    };
    for (const [name, value] of Object.entries(this.#options)) {
      const least = name === "batchSize" || name === "maxQueued" ? 1 : 0;
      if (typeof value === "number" && !(value >= least))
        throw new TypeError(`${name}: must be a number, at least ${least}.`);
    }
  }

  /** Events that wait, without those of the batch that is being sent. */
  get size(): number {
    return this.#waiting.length - this.#taken;
  }

  add(event: Event): void {
    if (this.#closing.signal.aborted) return;
    const { batchSize, flushMs, clock } = this.#options;
    const queued = this.packing.pack(event);
    this.#waiting.push(queued);
    this.#characters += queued.characters;
    this.#trim();
    if (this.#sending !== undefined) return;
    if (this.size >= batchSize) this.#send();
    else this.#timer ??= clock.timer(flushMs, () => this.#send());
  }

  /** Sends what is left within `closeMs`; what cannot be sent is lost, and told. */
  async close(): Promise<void> {
    const { clock, closeMs } = this.#options;
    this.#closing.abort();
    const timer = clock.timer(closeMs, () => this.#abort.abort());
    if (this.size > 0 || this.#dropped > 0) this.#send();
    await this.#sending;
    timer.cancel();
    this.#timer?.cancel();
    const lost = this.#dropped + this.size;
    if (lost > 0) this.#tell(`Sideband: ${lost} events could not be sent before the end.`);
    this.#waiting = [];
  }

  #trim(): void {
    const { maxQueued, maxQueuedCharacters } = this.#options;
    while (this.size > maxQueued || (this.#characters > maxQueuedCharacters && this.size > 1)) {
      this.#take();
      this.#dropped++;
    }
  }

  #take(): Queued<Packed> | undefined {
    const first = this.#waiting[this.#taken];
    if (first === undefined) return undefined;
    this.#waiting[this.#taken++] = undefined;
    this.#characters -= first.characters;
    if (this.#taken > 1_024 && this.#taken * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#taken);
      this.#taken = 0;
    }
    return first;
  }

  #send(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      // One may have come after the last look.
      if (this.size > 0 && !this.#closing.signal.aborted)
        this.#timer ??= this.#options.clock.timer(this.#options.flushMs, () => this.#send());
    });
  }

  async #sendAll(): Promise<void> {
    const { batchSize } = this.#options;
    do {
      const batch = this.#batch();
      if (batch.events.length > 0) await this.#attempts(batch);
      // A batch that is not full waits for others. In the end nobody waits, and one failure is enough.
    } while (this.#closing.signal.aborted ? this.size > 0 && !this.#failing : this.size >= batchSize);
  }

  #batch(): Batch<Packed> {
    const dropped = this.#dropped;
    this.#dropped = 0;
    const { pack, notice } = this.packing;
    const events: Packed[] = [];
    if (dropped > 0) events.push(pack(notice(dropped, this.#options.clock.now())).packed);
    while (events.length < this.#options.batchSize) {
      const next = this.#take();
      if (next === undefined) break;
      events.push(next.packed);
    }
    return { events, dropped };
  }

  async #attempts({ events, dropped }: Batch<Packed>): Promise<void> {
    const { retries, clock } = this.#options;
    let pause = FIRST_PAUSE_MS;
    for (let attempt = 0; ; attempt++) {
      const error = await this.#attempt(events);
      if (error === undefined) {
        if (this.#failing)
          this.#tell(`Sideband: events are sent again${dropped > 0 ? `; ${dropped} were lost` : ""}.`);
        this.#failing = false;
        return;
      }
      if (!this.#failing) this.#tell(`Sideband: events could not be sent: ${errorText(error)}`);
      this.#failing = true;
      const pointless = error instanceof TroupeError && !error.retryable;
      if (pointless || attempt >= retries || this.#closing.signal.aborted) break;
      await sleep(clock, Math.max(pause, waitOf(error)), this.#closing.signal);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
    // Those that an event of this batch told of are still not told.
    this.#dropped += dropped + events.length - (dropped > 0 ? 1 : 0);
  }

  #tell(text: string): void {
    try {
      this.#options.onProblem(text);
    } catch {
      // Nobody is left to be told.
    }
  }

  /** @returns why it failed. */
  async #attempt(events: readonly Packed[]): Promise<unknown> {
    const { timeoutMs, clock } = this.#options;
    const over = new AbortController();
    const timer = clock.timer(timeoutMs, () => over.abort());
    const signal = AbortSignal.any([over.signal, this.#abort.signal]);
    try {
      await endedBy(signal, (async () => this.deliver(events, signal))());
      return undefined;
    } catch (error) {
      if (!signal.aborted) return error ?? new Error("no reason given");
      return this.#abort.signal.aborted
        ? new Error("the host is closing")
        : new Error(`no end within ${timeoutMs} ms`);
    } finally {
      timer.cancel();
    }
  }
}

/** What a server asked to wait, in milliseconds. */
function waitOf(error: unknown): number {
  const wait = error instanceof Error && "retryAfterMs" in error ? error.retryAfterMs : undefined;
  return typeof wait === "number" && Number.isFinite(wait) ? Math.min(Math.max(0, wait), LONGEST_WAIT_MS) : 0;
}

/** As `promise`, but rejects when `signal` aborts: a function of the user's may not look at it. */
function endedBy<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
