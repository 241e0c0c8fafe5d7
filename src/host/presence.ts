import type { Clock, Timer } from "../core/clock.js";
import type { Courier } from "../journal/journal.js";
import type { Commands } from "./commands.js";
import type { Runs } from "./runs.js";

/** What {@link Presence} works with. */
export interface PresenceOptions {
  readonly runs: Runs;
  readonly commands: Commands;
  readonly clock: Clock;
  readonly courier?: Courier | undefined;
  /** How long a run goes on without a reader, in milliseconds. */
  readonly graceMs?: number | undefined;
}

/** How often other hosts are told of a reader, in milliseconds, where the grace is not short. */
const TELL_MS = 5_000;

/** Keeps runs going for as long as somebody reads them, here or at another host. */
export class Presence {
  constructor(private readonly options: PresenceOptions) {}

  /** A reader of a thread has come. @returns what to call when it leaves. */
  reading(thread: string): () => void {
    const { runs, commands, clock, courier, graceMs = TELL_MS } = this.options;
    const left = runs.reading(thread);
    if (courier === undefined) return left;
    let timer: Timer | undefined;
    const tell = () => {
      // Nobody else would know of it.
      if (runs.activeIn(thread) === undefined) void commands.tellReading(thread);
      timer = clock.timer(Math.min(TELL_MS, graceMs / 3), tell);
    };
    tell();
    return () => {
      timer?.cancel();
      left();
    };
  }
}
