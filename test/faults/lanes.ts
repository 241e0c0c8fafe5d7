import { Pair } from "./pair.js";
import type { Schedule } from "./schedule.js";

/** How many pairs of hosts work side by side: most of a schedule is waiting for a lease. */
export const LANES = 3;

/** Pairs of hosts, each of which plays one schedule at a time. */
export class Lanes implements AsyncDisposable {
  readonly #idle: Pair[] = [];
  readonly #all: Promise<Pair>[] = [];

  /** Works with a pair that nobody else works with; one that fails is not used again. */
  async use(onRunEnd: Schedule["onRunEnd"], work: (pair: Pair) => Promise<void>): Promise<void> {
    const place = this.#idle.findIndex((pair) => pair.onRunEnd === onRunEnd);
    const [pair = await this.#start(onRunEnd)] = place < 0 ? [] : this.#idle.splice(place, 1);
    await work(pair);
    this.#idle.push(pair);
  }

  #start(onRunEnd: Schedule["onRunEnd"]): Promise<Pair> {
    const starting = Pair.start(onRunEnd);
    this.#all.push(starting);
    return starting;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pair of await Promise.all(this.#all)) await pair[Symbol.asyncDispose]();
  }
}
