import type { ThreadEvent } from "../../src/bridges/agui/event.js";
import { isRunTerminal } from "../../src/core/run-event.js";
import type { Journal, JournalEntry, NewEntry, ReadOptions } from "../../src/journal/journal.js";

/** A journal that knows who still reads it, and when a run is over. */
export class CountingJournal implements Journal<ThreadEvent> {
  readers = 0;
  readonly #ends = new Map<string, () => void>();

  constructor(private readonly inner: Journal<ThreadEvent>) {}

  /** Resolves when the terminal event of a run has been recorded. Ask before it is. */
  ended(runId: string): Promise<void> {
    return new Promise((resolve) => this.#ends.set(runId, resolve));
  }

  async append(entry: NewEntry<ThreadEvent>): Promise<JournalEntry<ThreadEvent>> {
    const appended = await this.inner.append(entry);
    if (isRunTerminal(entry.event)) {
      this.#ends.get(entry.runId)?.();
      this.#ends.delete(entry.runId);
    }
    return appended;
  }

  async *read(thread: string, options?: ReadOptions): AsyncGenerator<readonly JournalEntry<ThreadEvent>[]> {
    this.readers++;
    try {
      yield* this.inner.read(thread, options);
    } finally {
      this.readers--;
    }
  }

  head(thread: string): Promise<string | undefined> {
    return this.inner.head(thread);
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
