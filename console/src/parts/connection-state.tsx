import type { ListingState } from "../thread/host-listing.js";
import type { Connection } from "../thread/thread-store.js";

type Tone = "steady" | "busy" | "broken";

interface Wording {
  readonly tone: Tone;
  readonly word: string;
  readonly detail?: string;
}

/** What the page knows of its connection, never more. */
export function ConnectionState({ connection, hosts }: { connection: Connection; hosts: ListingState }) {
  const { tone, word, detail } = describe(connection, hosts);
  return (
    <p className={`connection ${tone}`} data-status={connection.status} title={detail}>
      <span className="connection-mark" aria-hidden="true" />
      <span className="connection-word">{word}</span>
      {detail && <span className="connection-detail">{detail}</span>}
    </p>
  );
}

function describe(connection: Connection, hosts: ListingState): Wording {
  switch (connection.status) {
    case "idle":
    case "unknown":
      if (hosts.error !== undefined) return { tone: "broken", word: "No host", detail: hosts.error };
      return hosts.listing ? { tone: "steady", word: "Ready" } : { tone: "busy", word: "Connecting…" };
    case "connecting":
      return { tone: "busy", word: "Connecting…" };
    case "replaying":
      return { tone: "busy", word: "Replaying…" };
    case "live":
      return { tone: "steady", word: "Live" };
    case "reconnecting": {
      const from = connection.from === undefined ? "from the beginning" : `from event ${connection.from}`;
      return { tone: "broken", word: "Reconnecting…", detail: `${from}, attempt ${connection.attempt}` };
    }
    case "ended":
      return connection.error
        ? { tone: "broken", word: "Ended", detail: connection.error.message }
        : { tone: "busy", word: "Ended" };
  }
}
