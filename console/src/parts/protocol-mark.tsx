import type { SubagentView } from "../../../src/client/index.js";

const MARKS = { a2a: "A2A", agui: "AG-UI", local: "Local" } as const;
const NAMES = { a2a: "Agent2Agent protocol", agui: "AG-UI protocol", local: "another local agent" } as const;

/** How a remote agent is spoken to. */
export function ProtocolMark({ protocol }: { protocol: SubagentView["protocol"] }) {
  return (
    <abbr className="protocol" title={NAMES[protocol]}>
      {MARKS[protocol]}
    </abbr>
  );
}
