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
}

export function Header({ connection, hosts, canStartNew, onNewThread }: HeaderProps) {
  return (
    <header className="header">
      <h1 className="brand">
        <Icon name="agents" /> Troupe
      </h1>
      <ConnectionState connection={connection} hosts={hosts} />
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
