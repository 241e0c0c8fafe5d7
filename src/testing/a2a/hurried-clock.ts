import { type Clock, systemClock, type Timer } from "../../core/clock.js";

/** A real clock whose pauses are short: it notes how long each was meant to be. Bounds of five seconds and more stay as they are. */
export class HurriedClock implements Clock {
  /** Milliseconds that were asked for, of every timer below five seconds. */
  readonly pauses: number[] = [];

  /** @param pauseMs what each pause becomes, in milliseconds */
  constructor(private readonly pauseMs = 1) {}

  now(): number {
    return systemClock.now();
  }

  timer(milliseconds: number, callback: () => void): Timer {
    if (milliseconds >= 5_000) return systemClock.timer(milliseconds, callback);
    this.pauses.push(milliseconds);
    return systemClock.timer(Math.min(milliseconds, this.pauseMs), callback);
  }
}
