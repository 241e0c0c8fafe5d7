import { memo, useEffect, useState } from "react";
import { argumentHint, type ToolCallState, type ToolCallView } from "../../../src/client/index.js";
import { useTarget } from "../thread/page-focus.js";
import { ApprovalCard } from "./approval-card.js";
import { Elapsed } from "./elapsed.js";
import { Icon, type IconName } from "./icon.js";
import { ItemList } from "./item-list.js";
import { JsonText } from "./json-text.js";
import { SubagentCard } from "./subagent-card.js";

const ICONS: Readonly<Record<ToolCallState, IconName>> = {
  arguments: "dots",
  running: "ring",
  done: "check",
  failed: "cross",
  stopped: "square",
};

const WORDS: Readonly<Record<ToolCallState, string>> = {
  arguments: "being written",
  running: "running",
  done: "done",
  failed: "failed",
  stopped: "stopped",
};

/** One line per tool call, with what it delegated to under it. */
export const ToolCall = memo(function ToolCall({
  call,
  place,
}: {
  call: ToolCallView;
  version: number;
  place: string;
}) {
  return (
    <div className={`tool-call ${call.subagents.length > 0 ? "delegates" : ""}`} data-place={place}>
      <ToolLine call={call} place={place} />
      {call.approvals.map((approval) => (
        <ApprovalCard key={approval.request.approvalId} approval={approval} version={approval.version} />
      ))}
      {call.subagents.map((subagent) => (
        <SubagentCard key={subagent.delegationId} subagent={subagent} version={subagent.version} />
      ))}
      {call.items.length > 0 && (
        <div className="nested">
          <ItemList items={call.items} owner={call.id} />
        </div>
      )}
    </div>
  );
});

/** The line itself; it opens to the exact arguments and the result. */
export function ToolLine({ call, place }: { call: ToolCallView; place?: string }) {
  const [open, setOpen] = useState(false);
  const target = useTarget();
  const wanted = place !== undefined && target?.place === place;
  useEffect(() => {
    if (wanted) setOpen(true);
  }, [wanted]);
  // The cards under a delegating call tell its state and time themselves.
  const delegates = call.subagents.length > 0;
  const active = call.state === "arguments" || call.state === "running";
  const hint = delegates ? "" : argumentHint(call.arguments);
  return (
    <details
      className={`tool-line ${delegates && active ? "" : call.state}`}
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <Icon name={delegates && active ? "agents" : ICONS[call.state]} className="tool-state" />
        <span className="tool-name">{call.name}</span>
        <span className="visually-hidden">{WORDS[call.state]}</span>
        {hint && <span className="tool-hint">{hint}</span>}
        {active && !delegates && <Elapsed from={call.startedAt} to={undefined} />}
      </summary>
      {open && (
        <div className="tool-details">
          {call.rawName !== undefined && call.rawName !== call.name && (
            <p className="muted mono">{call.rawName}</p>
          )}
          <h4>Arguments</h4>
          <JsonText text={call.arguments || "{}"} />
          {call.result !== undefined && (
            <>
              <h4>{call.state === "failed" ? "Error" : "Result"}</h4>
              <JsonText text={call.result} />
            </>
          )}
        </div>
      )}
    </details>
  );
}
