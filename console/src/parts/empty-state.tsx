import type { HostListing } from "../../../src/client/index.js";
import type { ListingState } from "../thread/host-listing.js";
import type { Connection } from "../thread/thread-store.js";
import { SubAgentList } from "./agents-menu.js";
import { Icon } from "./icon.js";

interface EmptyStateProps {
  readonly connection: Connection;
  readonly hosts: ListingState;
  readonly onSend: (agent: string, text: string) => void;
}

/** What a newcomer sees: what this is, who is there, and a message that shows it. */
export function EmptyState({ connection, hosts, onSend }: EmptyStateProps) {
  const { listing } = hosts;
  return (
    <main className="conversation empty">
      <div className="column">
        {connection.status === "unknown" && (
          <p className="banner">
            The host does not know this thread, or no longer does. A message begins it anew.
          </p>
        )}
        {connection.status === "ended" && connection.error && (
          <p className="banner">{connection.error.message}</p>
        )}
        <h2>Ask an agent that can ask others.</h2>
        <p className="lead">
          A local agent answers you here. When it calls a remote agent, you watch that one work under the
          call, live. The local agent’s model only gets the short result.
        </p>
        {listing ? (
          <Invitation listing={listing} onSend={onSend} />
        ) : (
          <p className="muted">{hosts.error ?? "Asking the host who is there…"}</p>
        )}
      </div>
    </main>
  );
}

function Invitation({ listing, onSend }: { listing: HostListing; onSend: EmptyStateProps["onSend"] }) {
  const agent = listing.agents[0];
  if (!agent)
    return <p className="banner">This host has no agents. Add one under “agents” in its config file.</p>;
  return (
    <>
      {listing.subAgents.length > 0 && <SubAgentList subAgents={listing.subAgents} />}
      <p className="muted">Try this one:</p>
      <ul className="suggestions">
        {suggestions(listing).map((text) => (
          <li key={text}>
            <button type="button" className="suggestion" onClick={() => onSend(agent.key, text)}>
              <span>{text}</span>
              <Icon name="send" />
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function suggestions({ subAgents }: HostListing): string[] {
  const remote = subAgents.find((agent) => agent.status === "ready") ?? subAgents[0];
  if (!remote) return ["What can you do in this workspace?"];
  return [`Ask ${remote.key}: how do agents watch each other work?`];
}
