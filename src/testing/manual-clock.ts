import type { Clock, Timer } from "../core/clock.js";

interface PendingTimer {
  readonly due: number;
  readonly sequence: number;
  readonly callback: () => void;
}

/** Turns of the event loop that {@link ManualClock} waits for between two timers, so that promises and I/O can react. */
const SETTLE_TURNS = 4;

/** A {@link Clock} that moves only when told to. Timers fire in the order they are due; ties fire in the order they were made. */
export class ManualClock implements Clock {
  #now: number;
  #sequence = 0;
  readonly #timers = new Set<PendingTimer>();

  /** @param start milliseconds since the epoch; default 2026-01-01T00:00:00Z. */
  constructor(start = 1_767_225_600_000) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  timer(milliseconds: number, callback: () => void): Timer {
    const delay = Number.isFinite(milliseconds) ? Math.max(0, milliseconds) : Number.POSITIVE_INFINITY;
    const entry: PendingTimer = { due: this.#now + delay, sequence: this.#sequence++, callback };
    this.#timers.add(entry);
    return { cancel: () => void this.#timers.delete(entry) };
  }

  /** How many timers wait. Zero at the end of a test means that none was leaked. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer is due; `undefined` when none waits. */
  get next(): number | undefined {
    const entry = this.#earliest();
    return entry && Math.max(0, entry.due - this.#now);
  }

  /**
   * Moves on by `milliseconds`, firing what is due on the way. Before each timer and after the last one, pending microtasks and
   * I/O callbacks run, so a timer that a reaction starts within the span fires as well.
   */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    await settle();
    for (let entry = this.#earliest(); entry && entry.due <= end; entry = this.#earliest()) {
      this.#timers.delete(entry);
      this.#now = Math.max(this.#now, entry.due);
      entry.callback();
      await settle();
    }
    this.#now = end;
  }

  #earliest(): PendingTimer | undefined {
    let earliest: PendingTimer | undefined;
    for (const entry of this.#timers) {
      if (
        !earliest ||
        entry.due < earliest.due ||
        (entry.due === earliest.due && entry.sequence < earliest.sequence)
      ) {
        earliest = entry;
      }
    }
    return earliest;
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
