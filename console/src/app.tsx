import { useEffect, useMemo, useState } from "react";
import { type Client, runNeedsYou } from "../../src/client/index.js";
import { Inspector } from "./inspector/inspector.js";
import { Announcer } from "./parts/announcer.js";
import { Composer } from "./parts/composer.js";
import { Conversation } from "./parts/conversation.js";
import { EmptyState } from "./parts/empty-state.js";
import { Header } from "./parts/header.js";
import { ReplayBar } from "./replay/replay-bar.js";
import { useReplay } from "./replay/use-replay.js";
import { SearchBar } from "./search/search-bar.js";
import { useHostListing } from "./thread/host-listing.js";
import { FocusProvider, PageFocus } from "./thread/page-focus.js";
import { useRememberedSwitch } from "./thread/remembered.js";
import { ThreadProvider, useThreadVersion } from "./thread/thread-context.js";
import { rememberThread, useThreadLocation } from "./thread/thread-location.js";
import { ThreadStore } from "./thread/thread-store.js";
import { ThreadPanel, useIsWide } from "./threads/thread-panel.js";
import { useThreads } from "./threads/use-threads.js";
import { Timeline } from "./timeline/timeline.js";

/** The whole page. */
export function App({ client }: { client: Client }) {
  const [location, startNew] = useThreadLocation();
  const store = useMemo(() => new ThreadStore(client, location.threadId), [client, location.threadId]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is looked at belongs to its thread
  const focus = useMemo(() => new PageFocus(), [store]);
  const replay = useReplay(client, store, focus);
  const shown = replay ?? store;
  const hosts = useHostListing(client);
  useThreadVersion(store);

  useEffect(() => {
    if (location.known) store.open();
    return () => store.close();
  }, [store, location]);

  const { runs } = store.view;
  const last = runs.at(-1);
  const needsYou = last !== undefined && runNeedsYou(last);
  const working =
    store.activeRun !== undefined || (store.pending !== undefined && store.pending.error === undefined);
  useEffect(() => {
    document.title = needsYou ? "● Needs you · Troupe" : working ? "Working… · Troupe" : "Troupe";
  }, [needsYou, working]);

  const wide = useIsWide();
  const [beside, setBeside] = useRememberedSwitch("threads-beside", true);
  const [over, setOver] = useState(false);
  const threadsShown = wide ? beside : over;
  const showThreads = wide ? setBeside : setOver;
  const threads = useThreads(client, store, threadsShown);

  const empty = runs.length === 0 && store.pending === undefined;
  const [searching, setSearching] = useState(false);
  const searchable = runs.length > 0;
  useSearchKey(searchable, () => setSearching(true));

  const send = (agent: string, text: string) => {
    rememberThread(store.threadId);
    void store.send(agent, text);
  };

  return (
    <ThreadProvider value={shown}>
      <FocusProvider value={focus}>
        <div className={`page ${wide && threadsShown ? "with-threads" : ""}`}>
          <Header
            connection={store.connection}
            hosts={hosts}
            onNewThread={startNew}
            canStartNew={!empty}
            threadsShown={threadsShown}
            onThreads={() => showThreads(!threadsShown)}
            onSearch={searchable ? () => setSearching(true) : undefined}
          />
          {threadsShown && (
            <ThreadPanel threads={threads} current={store.threadId} onClose={() => setOver(false)} />
          )}
          <div className="stage">
            {searching && searchable && (
              <SearchBar key={`search-${store.threadId}`} store={store} onClose={() => setSearching(false)} />
            )}
            {empty ? (
              <EmptyState connection={store.connection} hosts={hosts} onSend={send} />
            ) : (
              <Conversation key={`${store.threadId} ${focus.replayed}`} store={shown} onRetry={send} />
            )}
            <Timeline key={`timeline-${store.threadId} ${focus.replayed}`} store={shown} />
            {replay ? (
              <ReplayBar store={replay} onClose={() => focus.replay(undefined)} />
            ) : (
              <Composer
                key={`composer-${store.threadId}`}
                store={store}
                hosts={hosts}
                working={working}
                onSend={send}
              />
            )}
          </div>
          <Inspector store={shown} />
          <Announcer key={`announcer-${store.threadId}`} store={store} />
        </div>
      </FocusProvider>
    </ThreadProvider>
  );
}

/** A slash, where nothing is written, begins a search. */
function useSearchKey(on: boolean, search: () => void): void {
  useEffect(() => {
    if (!on) return;
    const onKeyDown = (event: KeyboardEvent) => {
      const { target } = event;
      const writing = target instanceof HTMLElement && target.matches("input, textarea, select");
      if (
        event.key !== "/" ||
        writing ||
        event.ctrlKey ||
        event.metaKey ||
        document.querySelector("dialog[open]")
      )
        return;
      event.preventDefault();
      search();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  });
}
