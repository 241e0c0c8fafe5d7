import { useEffect, useRef } from "react";
import type { SubAgentListing } from "../../../src/client/index.js";
import type { ListingState } from "../thread/host-listing.js";
import { Icon } from "./icon.js";
import { ProtocolMark } from "./protocol-mark.js";

/** Who is there: the agents of the host and the remote ones that they may call. */
export function AgentsMenu({ hosts }: { hosts: ListingState }) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const details = menu.current;
      if (!details?.open) return;
      const outside = event.target instanceof Node && !details.contains(event.target);
      if (event instanceof KeyboardEvent ? event.key === "Escape" : outside) {
        details.open = false;
        if (event instanceof KeyboardEvent) {
          event.stopPropagation();
          details.querySelector("summary")?.focus();
        }
      }
    };
    document.addEventListener("pointerdown", close);
    document.addEventListener("keydown", close, true);
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("keydown", close, true);
    };
  }, []);
  const { listing } = hosts;
  if (!listing) return null;
  const count = listing.subAgents.length;
  return (
    <details className="menu" ref={menu}>
      <summary className="button quiet">
        <Icon name="agents" />
        <span className="wide-only">Agents</span>
        <span className="visually-hidden">{`, ${count} remote`}</span>
      </summary>
      <div className="menu-panel">
        <h2>Agents of this host</h2>
        <ul className="agent-list">
          {listing.agents.map((agent) => (
            <li key={agent.key}>
              <span className="agent-name">{agent.name}</span>{" "}
              {agent.name !== agent.driver && <span className="muted">{agent.driver}</span>}
            </li>
          ))}
        </ul>
        <h2>Remote agents they may call</h2>
        {count === 0 ? (
          <p className="muted">None yet. Add one under “subAgents” in the config file.</p>
        ) : (
          <SubAgentList subAgents={listing.subAgents} />
        )}
      </div>
    </details>
  );
}

const STATUS = { ready: "ready", unreachable: "not reachable", unknown: "not asked yet" } as const;

export function SubAgentList({ subAgents }: { subAgents: readonly SubAgentListing[] }) {
  return (
    <ul className="agent-list">
      {subAgents.map((agent) => (
        <li key={agent.key}>
          <ProtocolMark protocol={agent.protocol} /> <span className="agent-name">{agent.name}</span>{" "}
          <span className={`agent-status ${agent.status}`}>{STATUS[agent.status]}</span>
          {agent.description && <p className="muted clamp">{agent.description}</p>}
        </li>
      ))}
    </ul>
  );
}
