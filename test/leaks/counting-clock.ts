import { type Clock, systemClock, type Timer } from "../../src/core/clock.js";

/** The real clock, with a list of what is still set on it. */
export class CountingClock implements Clock {
  readonly #open = new Map<Timer, string>();

  /** Where the timers that have neither fired nor been cancelled were set, with their milliseconds. */
  get open(): readonly string[] {
    return [...this.#open.values()];
  }

  now(): number {
    return systemClock.now();
  }

  timer(milliseconds: number, callback: () => void): Timer {
    const inner = systemClock.timer(milliseconds, () => {
      this.#open.delete(timer);
      callback();
    });
    const timer: Timer = {
      cancel: () => {
        this.#open.delete(timer);
        inner.cancel();
      },
    };
    const [, , caller = ""] = (new Error().stack ?? "").split("\n");
    this.#open.set(timer, `${milliseconds} ms ${caller.trim()}`);
    return timer;
  }
}
