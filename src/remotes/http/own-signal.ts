/** Runs `call` with a signal of its own, which ends with it, so that no listener stays on `signal`. */
export async function withOwnSignal<T>(
  signal: AbortSignal,
  call: (own: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await call(controller.signal);
  } finally {
    signal.removeEventListener("abort", abort);
    // Whatever of it still goes on is of no use any more.
    controller.abort();
  }
}

/** Waits for `promise`, but no longer than until `signal` aborts; then it rejects with the signal's reason. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => undefined);
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
