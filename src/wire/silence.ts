import type { Clock, Timer } from "../core/clock.js";

/** A timer that fires so late was asleep with its machine, or the clock was set: that is no silence of whoever sends. */
const LATE_MS = 5_000;

/** Watches how long a wait takes. One timer serves any number of waits, since bytes come often and silence seldom. */
export class Silence {
  #waitingSince: number | undefined;
  #timer: Timer | undefined;
  #due = 0;

  /**
   * @param limitMs without a limit when absent
   * @param onSilence called when a wait has taken that long
   */
  constructor(
    private readonly clock: Clock,
    private readonly limitMs: number | undefined,
    private readonly onSilence: () => void,
  ) {}

  /** A wait begins. */
  begin(): void {
    if (this.limitMs === undefined) return;
    this.#waitingSince = this.clock.now();
    if (this.#timer === undefined) this.#look(this.limitMs, this.limitMs);
  }

  /** Something came. */
  end(): void {
    this.#waitingSince = undefined;
  }

  /** Nothing is waited for any more. */
  close(): void {
    this.end();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #look(inMs: number, limitMs: number): void {
    this.#due = this.clock.now() + inMs;
    this.#timer = this.clock.timer(inMs, () => this.#check(limitMs));
  }

  #check(limitMs: number): void {
    this.#timer = undefined;
    if (this.#waitingSince === undefined) return;
    const now = this.clock.now();
    if (now - this.#due > LATE_MS || now < this.#waitingSince) this.#waitingSince = now;
    const left = this.#waitingSince + limitMs - now;
    if (left > 0) this.#look(left, limitMs);
    else this.onSilence();
  }
}
