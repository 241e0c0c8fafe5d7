import { useEffect, useMemo } from "react";
import { type Client, runNeedsYou } from "../../src/client/index.js";
import { Announcer } from "./parts/announcer.js";
import { Composer } from "./parts/composer.js";
import { Conversation } from "./parts/conversation.js";
import { EmptyState } from "./parts/empty-state.js";
import { Header } from "./parts/header.js";
import { useHostListing } from "./thread/host-listing.js";
import { ThreadProvider, useThreadVersion } from "./thread/thread-context.js";
import { rememberThread, useThreadLocation } from "./thread/thread-location.js";
import { ThreadStore } from "./thread/thread-store.js";

/** The whole page. */
export function App({ client }: { client: Client }) {
  const [location, startNew] = useThreadLocation();
  const store = useMemo(() => new ThreadStore(client, location.threadId), [client, location.threadId]);
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

  const send = (agent: string, text: string) => {
    rememberThread(store.threadId);
    void store.send(agent, text);
  };
  const empty = runs.length === 0 && store.pending === undefined;

  return (
    <ThreadProvider value={store}>
      <div className="page">
        <Header connection={store.connection} hosts={hosts} onNewThread={startNew} canStartNew={!empty} />
        {empty ? (
          <EmptyState connection={store.connection} hosts={hosts} onSend={send} />
        ) : (
          <Conversation key={store.threadId} store={store} onRetry={send} />
        )}
        <Composer
          key={`composer-${store.threadId}`}
          store={store}
          hosts={hosts}
          working={working}
          onSend={send}
        />
        <Announcer key={`announcer-${store.threadId}`} store={store} />
      </div>
    </ThreadProvider>
  );
}
