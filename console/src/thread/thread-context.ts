import { createContext, useContext, useSyncExternalStore } from "react";
import type { ThreadStore } from "./thread-store.js";

const Context = createContext<ThreadStore | undefined>(undefined);

export const ThreadProvider = Context.Provider;

/** The thread that the page shows. */
export function useThread(): ThreadStore {
  const store = useContext(Context);
  if (!store) throw new Error("There is no thread around this part.");
  return store;
}

/** The time that the thread's clocks show; the time of day where there is no thread. */
export function useThreadTime(): number {
  return useContext(Context)?.now() ?? Date.now();
}

/** Renders again whenever anything of the thread changed. */
export function useThreadVersion(store: ThreadStore): number {
  return useSyncExternalStore(store.subscribe, store.version);
}

/** Whether the person asked for something (a stop, an answer) whose outcome is not there yet. */
export function useWasAsked(id: string): boolean {
  const store = useThread();
  return useSyncExternalStore(store.subscribe, () => store.wasAsked(id));
}
