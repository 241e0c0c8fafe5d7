import { useEffect, useState } from "react";
import { createClientId } from "../../../src/client/index.js";

/** The thread in the page's address, or a fresh one. `known`: the address named it, so there may be something to read. */
export interface ThreadLocation {
  readonly threadId: string;
  readonly known: boolean;
}

/** Follows the address. The thread is written into it by {@link rememberThread} at its first message, so that a reload rejoins. */
export function useThreadLocation(): [ThreadLocation, () => void] {
  const [location, setLocation] = useState(readLocation);
  useEffect(() => {
    const onHashChange = () => {
      const next = threadInAddress();
      setLocation((current) => (next === current.threadId ? current : readLocation()));
    };
    window.addEventListener("hashchange", onHashChange);
    return () => window.removeEventListener("hashchange", onHashChange);
  }, []);
  const startNew = () => {
    history.pushState(null, "", window.location.pathname + window.location.search);
    setLocation(readLocation());
  };
  return [location, startNew];
}

export function rememberThread(threadId: string): void {
  if (threadInAddress() === threadId) return;
  history.replaceState(null, "", `#${new URLSearchParams({ thread: threadId })}`);
}

function readLocation(): ThreadLocation {
  const threadId = threadInAddress();
  return threadId === undefined
    ? { threadId: createClientId("thread"), known: false }
    : { threadId, known: true };
}

function threadInAddress(): string | undefined {
  return new URLSearchParams(window.location.hash.slice(1)).get("thread") || undefined;
}
