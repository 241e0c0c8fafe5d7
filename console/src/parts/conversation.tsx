import { useCallback, useLayoutEffect, useRef, useState } from "react";
import { useTarget } from "../thread/page-focus.js";
import { useTargetScroller } from "../thread/target-scroller.js";
import { useThreadVersion } from "../thread/thread-context.js";
import type { PendingMessage, ThreadStore } from "../thread/thread-store.js";
import { Elapsed } from "./elapsed.js";
import { Icon } from "./icon.js";
import { useFirstShown } from "./item-list.js";
import { RunBlock } from "./run-block.js";

interface ConversationProps {
  readonly store: ThreadStore;
  readonly onRetry: (agent: string, text: string) => void;
}

/** How many of the last runs are there at first. */
const LAST_RUNS = 20;

/** How near to the end, in pixels, still counts as being there. */
const NEAR_END = 80;

/** The runs of a thread. Stays at the end while the reader is there, and leaves them alone when they scrolled up. */
export function Conversation({ store, onRetry }: ConversationProps) {
  const version = useThreadVersion(store);
  const scroller = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const [away, setAway] = useState(false);

  const toEnd = useCallback(() => {
    const element = scroller.current;
    if (element) element.scrollTop = element.scrollHeight;
  }, []);
  const look = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
    setAway(!atEnd.current);
  }, []);
  useLayoutEffect(() => {
    if (!scroller.current || !content.current) return;
    const observer = new ResizeObserver((entries) => {
      // A smaller window keeps the end in view. Content that a person unfolds does not push them away from it.
      if (atEnd.current && entries.some(({ target }) => target === scroller.current)) toEnd();
      look();
    });
    observer.observe(scroller.current);
    observer.observe(content.current);
    return () => observer.disconnect();
  }, [look, toEnd]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new content is the reason to scroll
  useLayoutEffect(() => {
    if (atEnd.current) toEnd();
  }, [version, toEnd]);

  // Going to a place is leaving the end.
  const leaveEnd = useCallback(() => {
    atEnd.current = false;
  }, []);
  useTargetScroller(leaveEnd);

  const { runs, gaps } = store.view;
  const target = useTarget();
  const wanted = target === undefined ? -1 : runs.findIndex(({ runId }) => target.owners.has(runId));
  const shown = useFirstShown("thread", runs.length, LAST_RUNS, 10);
  const first = wanted < 0 ? shown.first : Math.min(shown.first, wanted);
  return (
    <main className="conversation" ref={scroller} onScroll={look}>
      <div className="column" ref={content}>
        {gaps.map((gap) => (
          <p key={gap.resumesAt} className="banner">
            {`The host no longer has the events between ${gap.after} and ${gap.resumesAt}.`}
          </p>
        ))}
        {first > 0 && (
          <button type="button" className="earlier" onClick={shown.showEarlier}>
            {`Show earlier messages (${first})`}
          </button>
        )}
        {runs.slice(first).map((run) => (
          <RunBlock key={run.runId} run={run} version={run.version} />
        ))}
        {store.pending && <Pending message={store.pending} store={store} onRetry={onRetry} />}
      </div>
      {away && (
        <button
          type="button"
          className="button to-end"
          onClick={() => {
            atEnd.current = true;
            toEnd();
          }}
        >
          <Icon name="arrow-down" />
          Latest
        </button>
      )}
    </main>
  );
}

function Pending({
  message,
  store,
  onRetry,
}: {
  message: PendingMessage;
  store: ThreadStore;
  onRetry: ConversationProps["onRetry"];
}) {
  return (
    <section className="run">
      <div className="user-message">{message.text}</div>
      {message.error === undefined ? (
        <p className="run-status working">
          <span className="pulse" aria-hidden="true" /> Sending{" "}
          <Elapsed from={message.startedAt} to={undefined} />
        </p>
      ) : (
        <div className="problem" role="alert">
          <Icon name="alert" />
          <div>
            <p>
              <strong>It was not sent.</strong> {message.error}
            </p>
            <p className="actions">
              <button type="button" className="button" onClick={() => onRetry(message.agent, message.text)}>
                Try again
              </button>
              <button type="button" className="button quiet" onClick={() => store.dismissPending()}>
                Discard
              </button>
            </p>
          </div>
        </div>
      )}
    </section>
  );
}
