import { useEffect, useState } from "react";
import type { Client, HostListing } from "../../../src/client/index.js";

/** What the host offers; `undefined` while it is asked. */
export type ListingState = { readonly listing?: HostListing; readonly error?: string };

/** How often the health of remote agents is asked for again, in milliseconds. */
const REFRESH_MS = 30_000;
const RETRY_MS = 3_000;

export function useHostListing(client: Client): ListingState {
  const [state, setState] = useState<ListingState>({});
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      let wait = REFRESH_MS;
      try {
        setState({ listing: await client.listAgents(controller.signal) });
      } catch (error) {
        if (controller.signal.aborted) return;
        wait = RETRY_MS;
        const message = error instanceof Error ? error.message : String(error);
        setState((before) => ({ ...before, error: message }));
      }
      timer = setTimeout(ask, wait);
    };
    void ask();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [client]);
  return state;
}
