import { type Clock, systemClock } from "../core/clock.js";
import { isRunTerminal } from "../core/run-event.js";
import type {
  Journal,
  JournalEntry,
  NewEntry,
  ReadOptions,
  Recordable,
  RecordedSpan,
  SpanQuery,
} from "./journal.js";
import { MemoryThread } from "./memory-thread.js";
import { matches } from "./span-list.js";
import { untilBurstIsOver, WaitingReaders } from "./waiting-readers.js";

/** Options of {@link createMemoryJournal}. */
export interface MemoryJournalOptions {
  readonly clock?: Clock;
  /** Items kept of one thread; whole ended runs beyond it are dropped, oldest first. Default 200,000. */
  readonly maxItemsPerThread?: number;
  /** Threads kept; beyond it those that rest longest are dropped. Default 10,000. */
  readonly maxThreads?: number;
  /** Entries that a reader takes at once. Default 512. */
  readonly batch?: number;
  /** A reader further behind than this many entries gets deltas merged. Default 1,024. */
  readonly mergeBeyond?: number;
}

/** A {@link Journal} that lives as long as its process. */
export function createMemoryJournal<Event extends Recordable>(
  options: MemoryJournalOptions = {},
): Journal<Event> {
  return new MemoryJournal<Event>(options);
}

class MemoryJournal<Event extends Recordable> implements Journal<Event> {
  /** In the order of their last run's start or end, so that the first one rests longest. */
  readonly #threads = new Map<string, MemoryThread<Event>>();
  readonly #waiting = new WaitingReaders();
  #closed = false;
  /** The highest cursor of any dropped thread. A thread that comes back starts above it, so that no cursor is used twice. */
  #dropped = 0;
  readonly #clock: Clock;
  readonly #limits: { items: number; threads: number; batch: number; mergeBeyond: number };

  constructor(options: MemoryJournalOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#limits = {
      items: options.maxItemsPerThread ?? 200_000,
      threads: options.maxThreads ?? 10_000,
      batch: options.batch ?? 512,
      mergeBeyond: options.mergeBeyond ?? 1_024,
    };
  }

  append({ thread: name, runId, event }: NewEntry<Event>): Promise<JournalEntry<Event>> {
    const known = this.#threads.get(name);
    const thread = known ?? new MemoryThread<Event>(name, this.#dropped);
    const entry = thread.append(runId, this.#clock.now(), event);
    if (known === undefined || event.type === "run.started" || isRunTerminal(event)) this.#touch(thread);
    this.#waiting.wake(name);
    return Promise.resolve(entry);
  }

  async *read(name: string, options: ReadOptions = {}): AsyncGenerator<readonly JournalEntry<Event>[]> {
    const { follow = false, signal } = options;
    let after = Number(options.after ?? 0);
    while (signal?.aborted !== true) {
      const thread = this.#threads.get(name);
      // A cursor beyond the end comes from an earlier life of this journal: start over, the reader will see it jump back.
      if (thread !== undefined && after > thread.head) after = 0;
      const merge = thread !== undefined && thread.head - after > this.#limits.mergeBeyond;
      const entries = thread?.take(after, this.#limits.batch, merge) ?? [];
      const last = entries.at(-1);
      if (last !== undefined) {
        after = Number(last.cursor);
        yield entries;
      } else if (!follow || this.#closed) return;
      else {
        await this.#waiting.wait(name, signal);
        await untilBurstIsOver();
      }
    }
  }

  async head(name: string): Promise<string | undefined> {
    const head = this.#threads.get(name)?.head;
    return head === undefined ? undefined : String(head);
  }

  async find(query: SpanQuery): Promise<readonly RecordedSpan[]> {
    const name = "thread" in query ? query.thread : undefined;
    const named = name === undefined ? [...this.#threads.values()] : [this.#threads.get(name)];
    return named.flatMap((thread) => thread?.spans() ?? []).filter((span) => matches(span, query));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#waiting.wakeAll();
  }

  #touch(thread: MemoryThread<Event>): void {
    this.#threads.delete(thread.name);
    this.#threads.set(thread.name, thread);
    thread.trim(this.#limits.items);
    if (this.#threads.size <= this.#limits.threads) return;
    for (const [name, { active, head }] of this.#threads) {
      if (active || name === thread.name) continue;
      this.#threads.delete(name);
      this.#dropped = Math.max(this.#dropped, head);
      return;
    }
  }
}
