/** A pending timer; `cancel` is idempotent. */
export interface Timer {
  cancel(): void;
}

/** The only source of time in Troupe. Tests inject one that moves when told to. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Calls `callback` once, `milliseconds` from now, unless cancelled. A timer never keeps the process alive. */
  timer(milliseconds: number, callback: () => void): Timer;
}

/** Timers above this overflow Node's 32-bit delay and would fire at once. */
const MAX_DELAY = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  timer(milliseconds, callback) {
    const handle = setTimeout(callback, Math.min(milliseconds, MAX_DELAY));
    // Browsers give a number here.
    Object(handle).unref?.();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `milliseconds` on `clock`, or early (never rejecting) when `signal` aborts. */
export function sleep(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.timer(milliseconds, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/**
 * Waits for `promise` at most `milliseconds`.
 * @returns its value, or `undefined` when time ran out. A later rejection of `promise` is swallowed; an earlier one is thrown.
 */
export function withinTime<T>(
  clock: Clock,
  milliseconds: number,
  promise: Promise<T>,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(milliseconds, () => resolve(undefined));
    promise.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}
