import type { ListingState } from "../thread/host-listing.js";
import type { Connection } from "../thread/thread-store.js";
import { AgentsMenu } from "./agents-menu.js";
import { ConnectionState } from "./connection-state.js";
import { Icon } from "./icon.js";

interface HeaderProps {
  readonly connection: Connection;
  readonly hosts: ListingState;
  readonly canStartNew: boolean;
  readonly onNewThread: () => void;
  readonly threadsShown: boolean;
  readonly onThreads: () => void;
  /** Absent while there is nothing to search. */
  readonly onSearch?: (() => void) | undefined;
}

export function Header(props: HeaderProps) {
  const { connection, hosts, canStartNew, onNewThread, threadsShown, onThreads, onSearch } = props;
  return (
    <header className="header">
      <button
        type="button"
        className="button quiet"
        aria-expanded={threadsShown}
        aria-label="Threads"
        title="Threads"
        onClick={onThreads}
      >
        <Icon name="list" />
      </button>
      <h1 className="brand">
        <Icon name="agents" /> Troupe
      </h1>
      <ConnectionState connection={connection} hosts={hosts} />
      {onSearch && (
        <button
          type="button"
          className="button quiet"
          aria-label="Search"
          aria-keyshortcuts="/"
          title="Search (/)"
          onClick={onSearch}
        >
          <Icon name="search" />
        </button>
      )}
      <AgentsMenu hosts={hosts} />
      <button
        type="button"
        className="button quiet"
        aria-label="New thread"
        title="New thread"
        onClick={onNewThread}
        disabled={!canStartNew}
      >
        <Icon name="plus" />
        <span className="wide-only">New thread</span>
      </button>
    </header>
  );
}
