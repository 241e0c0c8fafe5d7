/** Counts what runs at once, in one scope and below a limit of each caller's own. */
export class Permits {
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  /** How many permits `scope` holds. */
  held(scope: string): number {
    return this.#held.get(scope) ?? 0;
  }

  /** @returns a release that may be called any number of times, or `undefined` when `scope` already holds `limit` permits. */
  acquire(scope: string, limit: number): (() => void) | undefined {
    if (this.held(scope) >= limit) return undefined;
    this.#held.set(scope, this.held(scope) + 1);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const left = this.held(scope) - 1;
      if (left > 0) this.#held.set(scope, left);
      else this.#held.delete(scope);
      for (const wake of [...this.#waiting]) wake();
    };
  }

  /** Resolves when any permit is given back next, or when `signal` aborts. */
  freed(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}
