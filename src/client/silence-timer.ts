import type { Clock, Timer } from "../core/clock.js";

/**
 * Calls back when one wait lasts longer than `milliseconds`. Only the time between {@link begin} and {@link end} counts, so a
 * reader that is slow to ask is not taken for a sender that is silent. One timer serves any number of waits.
 */
export class SilenceTimer {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  readonly #onSilence: () => void;
  #waitingSince: number | undefined;
  #timer: Timer | undefined;
  #over = false;

  constructor(clock: Clock, milliseconds: number, onSilence: () => void) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
    this.#onSilence = onSilence;
  }

  begin(): void {
    if (this.#over) return;
    this.#waitingSince = this.#clock.now();
    this.#timer ??= this.#clock.timer(this.#milliseconds, this.#check);
  }

  end(): void {
    this.#waitingSince = undefined;
  }

  /** Stops for good. Idempotent. */
  cancel(): void {
    this.#over = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  readonly #check = (): void => {
    this.#timer = undefined;
    if (this.#over || this.#waitingSince === undefined) return;
    const remaining = this.#waitingSince + this.#milliseconds - this.#clock.now();
    if (remaining > 0) {
      this.#timer = this.#clock.timer(remaining, this.#check);
      return;
    }
    this.#over = true;
    this.#onSilence();
  };
}
