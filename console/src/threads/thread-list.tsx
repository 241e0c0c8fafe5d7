import { runWord } from "../../../src/client/index.js";
import { useTick } from "../parts/elapsed.js";
import { Icon } from "../parts/icon.js";
import { formatAgo, type ThreadEntry } from "./thread-book.js";
import type { Threads } from "./use-threads.js";

interface ThreadListProps {
  readonly threads: Threads;
  readonly current: string;
  readonly onChoose: () => void;
}

/** Recent threads, to go to. */
export function ThreadList({ threads, current, onChoose }: ThreadListProps) {
  const now = useTick(true);
  const { entries, more } = threads;
  if (entries.length === 0) return <p className="muted small-text">None yet.</p>;
  return (
    <>
      <ul className="thread-list">
        {entries.map((entry) => (
          <li key={entry.threadId}>
            <a
              href={`#${new URLSearchParams({ thread: entry.threadId })}`}
              aria-current={entry.threadId === current ? "page" : undefined}
              onClick={onChoose}
            >
              <span className="thread-title">{entry.title || entry.threadId}</span>
              <span className="thread-facts">
                <ThreadState entry={entry} />
                <span>{formatAgo(now - entry.time)}</span>
              </span>
            </a>
          </li>
        ))}
      </ul>
      {more && (
        <button type="button" className="earlier" onClick={more}>
          Show more
        </button>
      )}
    </>
  );
}

const ICONS = { running: "ring", finished: "check", failed: "cross", cancelled: "square" } as const;

function ThreadState({ entry: { listing } }: { entry: ThreadEntry }) {
  if (!listing) return null;
  const { status, detached, agent } = listing;
  return (
    <>
      <span className={`thread-state ${status}`}>
        <Icon name={ICONS[status]} /> {runWord(status)}
      </span>
      {detached > 0 && <span className="detached">{`${detached} ${detached === 1 ? "goes" : "go"} on`}</span>}
      <span className="thread-agent">{agent}</span>
    </>
  );
}
