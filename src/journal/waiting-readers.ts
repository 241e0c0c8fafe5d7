/** Readers that have come to the end of a thread and wait for more. */
export class WaitingReaders {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** How many wait, in all threads. */
  get size(): number {
    let size = 0;
    for (const readers of this.#waiting.values()) size += readers.size;
    return size;
  }

  /** Resolves when the thread is woken, or `signal` aborts. */
  wait(thread: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(thread) ?? new Set();
      this.#waiting.set(thread, waiting);
      const wake = () => {
        waiting.delete(wake);
        if (waiting.size === 0) this.#waiting.delete(thread);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      waiting.add(wake);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }

  wake(thread: string): void {
    const waiting = this.#waiting.get(thread);
    if (waiting !== undefined) for (const wake of waiting) wake();
  }

  wakeAll(): void {
    for (const thread of [...this.#waiting.keys()]) this.wake(thread);
  }
}

/** Entries come in bursts, as bytes do from a socket: a reader that waits for the rest of it takes all at once. */
export function untilBurstIsOver(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
