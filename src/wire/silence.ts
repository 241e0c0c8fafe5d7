import type { Clock, Timer } from "../core/clock.js";

/** Watches how long a wait takes. One timer serves any number of waits, since bytes come often and silence seldom. */
export class Silence {
  #waitingSince: number | undefined;
  #timer: Timer | undefined;

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
    this.#timer ??= this.clock.timer(this.limitMs, () => this.#check(this.limitMs ?? 0));
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

  #check(limitMs: number): void {
    this.#timer = undefined;
    if (this.#waitingSince === undefined) return;
    const left = this.#waitingSince + limitMs - this.clock.now();
    if (left > 0) this.#timer = this.clock.timer(left, () => this.#check(limitMs));
    else this.onSilence();
  }
}
