import { type Clock, systemClock, type Timer } from "../../src/core/clock.js";

/** A real clock that runs so many times as fast, and knows what is still set on it. */
export class FastClock implements Clock {
  readonly #start = systemClock.now();
  readonly #open = new Map<Timer, number>();

  constructor(private readonly speed: number) {}

  /** Milliseconds of the timers that have neither fired nor been cancelled. */
  get open(): number[] {
    return [...this.#open.values()];
  }

  now(): number {
    return this.#start + (systemClock.now() - this.#start) * this.speed;
  }

  timer(milliseconds: number, callback: () => void): Timer {
    const inner = systemClock.timer(milliseconds / this.speed, () => {
      this.#open.delete(timer);
      callback();
    });
    const timer: Timer = {
      cancel: () => {
        this.#open.delete(timer);
        inner.cancel();
      },
    };
    this.#open.set(timer, milliseconds);
    return timer;
  }
}
