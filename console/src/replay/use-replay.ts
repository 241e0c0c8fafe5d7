import { useEffect, useState, useSyncExternalStore } from "react";
import { type Client, ClientError } from "../../../src/client/index.js";
import type { PageFocus } from "../thread/page-focus.js";
import type { ThreadStore } from "../thread/thread-store.js";
import { ReplayStore, readRun } from "./replay-store.js";

/** The replay that the person asked for, once its frames are there. */
export function useReplay(client: Client, store: ThreadStore, focus: PageFocus): ReplayStore | undefined {
  const wanted = useSyncExternalStore(focus.subscribe, () => focus.replayed);
  const [replay, setReplay] = useState<ReplayStore>();
  useEffect(() => {
    setReplay(undefined);
    if (wanted === undefined) return;
    const controller = new AbortController();
    let playing: ReplayStore | undefined;
    readRun(client, store.threadId, wanted, controller.signal).then(
      (frames) => {
        if (controller.signal.aborted) return;
        if (frames.length === 0) {
          store.complain(new ClientError("not_found", "The host no longer has the events of that run."));
          focus.replay(undefined);
          return;
        }
        playing = new ReplayStore(client, store.threadId, frames);
        playing.play();
        setReplay(playing);
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        store.complain(error);
        focus.replay(undefined);
      },
    );
    return () => {
      controller.abort();
      playing?.close();
    };
  }, [client, store, focus, wanted]);
  return wanted === undefined ? undefined : replay;
}
