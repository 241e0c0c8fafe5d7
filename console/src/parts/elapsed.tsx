import { useSyncExternalStore } from "react";
import { formatElapsed } from "../../../src/client/index.js";
import { useThreadTime } from "../thread/thread-context.js";

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let second = Math.floor(Date.now() / 1000);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    second = Math.floor(Date.now() / 1000);
    for (const each of listeners) each();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

const nothing = () => () => undefined;

/** The time of day, renewed every second while `running`. All clocks of the page tick together. */
export function useTick(running: boolean): number {
  useSyncExternalStore(running ? subscribe : nothing, () => (running ? second : 0));
  return Date.now();
}

/** As {@link useTick}, but the thread's own time, which is another one in a replay. */
export function useNow(running: boolean): number {
  useTick(running);
  return useThreadTime();
}

/** How long something has lasted, or did. */
export function Elapsed({ from, to }: { from: number; to: number | undefined }) {
  const now = useNow(to === undefined);
  return (
    <span className="elapsed" role="timer" aria-live="off">
      {formatElapsed((to ?? now) - from)}
    </span>
  );
}

/** How long until something happens by itself. */
export function Remaining({ until }: { until: number }) {
  const now = useNow(true);
  return (
    <span className="elapsed" role="timer" aria-live="off">
      {formatElapsed(until - now)}
    </span>
  );
}
