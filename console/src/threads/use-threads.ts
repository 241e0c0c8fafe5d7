import { useCallback, useEffect, useState } from "react";
import type { Client, ThreadListing } from "../../../src/client/index.js";
import { recall, remember } from "../thread/remembered.js";
import type { ThreadStore } from "../thread/thread-store.js";
import { mergeThreads, noteThread, readKnown, type ThreadEntry, writeKnown } from "./thread-book.js";

/** How often the host is asked again while the list is shown, in milliseconds. */
const REFRESH_MS = 10_000;
const NAME = "threads";

export interface Threads {
  readonly entries: readonly ThreadEntry[];
  /** Asks for more of the host's list; absent when there is no more. */
  readonly more?: () => void;
}

/** The threads to choose from: those that this browser was in, and those that the host lists. */
export function useThreads(client: Client, store: ThreadStore, shown: boolean): Threads {
  const [known, setKnown] = useState(() => readKnown(recall(NAME)));
  const [listed, setListed] = useState<readonly ThreadListing[]>([]);
  const [next, setNext] = useState<string>();
  const { runs } = store.view;
  const title = runs[0]?.userMessages[0]?.text ?? store.pending?.text;
  const last = runs.at(-1);
  const time = store.pending?.startedAt ?? last?.startedAt;
  const { threadId } = store;

  useEffect(() => {
    if (title === undefined || time === undefined) return;
    // Another tab may have noted threads meanwhile.
    const noted = noteThread(readKnown(recall(NAME)), { threadId, title, time });
    remember(NAME, writeKnown(noted));
    setKnown(noted);
  }, [threadId, title, time]);

  const status = last?.status;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a run that begins or ends changes the list
  useEffect(() => {
    if (!shown) return;
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      try {
        const page = await client.listThreads(undefined, controller.signal);
        setListed((before) => merged(page.threads, before));
        setNext((before) => before ?? page.next);
      } catch {
        // What this browser knows is shown all the same; the header tells when there is no host.
      }
      if (!controller.signal.aborted) timer = setTimeout(ask, REFRESH_MS);
    };
    void ask();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [client, shown, threadId, status]);

  const more = useCallback(() => {
    client.listThreads(next).then(
      (page) => {
        setListed((before) => merged(before, page.threads));
        setNext(page.next);
      },
      () => undefined,
    );
  }, [client, next]);
  return { entries: mergeThreads(known, listed), ...(next !== undefined && { more }) };
}

/** Both, each thread once, as `first` has it. */
function merged(first: readonly ThreadListing[], second: readonly ThreadListing[]): readonly ThreadListing[] {
  const ids = new Set(first.map(({ threadId }) => threadId));
  return [...first, ...second.filter(({ threadId }) => !ids.has(threadId))];
}
