import type { Clock, Timer } from "../core/clock.js";

/** A timer that fires so late was asleep with its machine, or the clock was set: that is no silence of a remote. */
const LATE_MS = 5_000;

/** What {@link SilenceWatch} works with. */
export interface SilenceWatchOptions {
  readonly clock: Clock;
  /** Milliseconds without a word that are too long. */
  readonly limitMs: number;
  /** Whether the remote is expected to say something; waiting for an answer is no silence of it. */
  readonly expected: () => boolean;
  /** Called once. */
  readonly silent: () => void;
}

/** Looks once in a while how long a remote has been silent, rather than moving a timer with each signal. */
export class SilenceWatch {
  #heardAt = 0;
  #timer: Timer | undefined;

  constructor(private readonly options: SilenceWatchOptions) {}

  /** The remote said something. */
  heard(): void {
    this.#heardAt = this.options.clock.now();
  }

  start(): void {
    const { clock, limitMs } = this.options;
    this.heard();
    this.#wait(limitMs, clock.now() + limitMs);
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  #wait(milliseconds: number, due: number): void {
    const { clock, limitMs, expected, silent } = this.options;
    this.#timer = clock.timer(milliseconds, () => {
      const now = clock.now();
      if (!expected() || now - due > LATE_MS || now < this.#heardAt) this.#heardAt = now;
      const left = this.#heardAt + limitMs - now;
      if (left > 0) this.#wait(left, now + left);
      else silent();
    });
  }
}
