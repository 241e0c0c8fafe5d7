import type { Clock, Timer } from "../core/clock.js";
import type { RemoteRegistry } from "./registry.js";

/** The first and the longest time between two looks, in milliseconds. */
const FIRST_MS = 5_000;
const LONGEST_MS = 60_000;

/** Asks remotes that do not answer again, ever less often: one that is back has its tools without being called. */
export class ProbeWatch {
  #timer: Timer | undefined;
  #waitMs = FIRST_MS;
  #closed = false;

  /** @param timeoutMs how long each remote gets. */
  constructor(
    private readonly registry: RemoteRegistry,
    private readonly clock: Clock,
    private readonly timeoutMs: number,
  ) {
    registry.onLost(() => this.#later());
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #later(): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#timer = this.clock.timer(this.#waitMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const lost = this.#lost();
    // What is lost meanwhile waits for the next look.
    await this.registry.probe(this.timeoutMs, lost);
    this.#timer = undefined;
    const left = this.#lost();
    this.#waitMs = left.length < lost.length ? FIRST_MS : Math.min(2 * this.#waitMs, LONGEST_MS);
    if (left.length > 0) this.#later();
  }

  #lost(): string[] {
    const states = this.registry.states();
    return states.filter(({ status }) => status === "unreachable").map(({ key }) => key);
  }
}
