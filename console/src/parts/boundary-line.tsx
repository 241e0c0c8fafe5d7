import { useState } from "react";
import { formatBoundary, type SubagentView } from "../../../src/client/index.js";
import { JsonText } from "./json-text.js";

const BAR_WIDTH = 56;

/** What crossed from the remote agent to the parent's model, beside what a person saw. Opens the exact JSON. */
export function BoundaryLine({ subagent }: { subagent: SubagentView }) {
  const [open, setOpen] = useState(false);
  const line = formatBoundary(subagent);
  if (line === undefined || subagent.result === undefined) return null;
  return (
    <details className="boundary" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Bar subagent={subagent} />
        <span>{line}</span>
        <span className="boundary-action">{open ? "Hide" : "Show the JSON"}</span>
      </summary>
      {open && (
        <>
          <p className="muted">This is all that the parent’s model got:</p>
          <JsonText text={JSON.stringify(subagent.result)} />
        </>
      )}
    </details>
  );
}

function Bar({ subagent: { sizes } }: { subagent: SubagentView }) {
  if (!sizes) return null;
  const share = sizes.seen > 0 ? Math.min(1, sizes.model / sizes.seen) : 1;
  return (
    <svg className="boundary-bar" viewBox={`0 0 ${BAR_WIDTH} 6`} aria-hidden="true" focusable="false">
      <rect className="seen" width={BAR_WIDTH} height="6" rx="3" />
      <rect className="model" width={Math.max(6, share * BAR_WIDTH)} height="6" rx="3" />
    </svg>
  );
}
