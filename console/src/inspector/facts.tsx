import type { ReactNode } from "react";
import { formatBytes, type SubagentView } from "../../../src/client/index.js";

type Fact = readonly [name: string, value: ReactNode];

const LEVELS = {
  strong: "strong: the call named itself",
  medium: "medium: by its tool and arguments",
  none: "none: it stands under the run",
} as const;

/** Names and values; what is not known is left out. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) =>
        value === undefined || value === "" ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** Who it is, by which names, and how it came about. */
export function factsOf(subagent: SubagentView): Fact[] {
  const { cardChangedFrom, correlation, sizes } = subagent;
  return [
    ["Agent", `${subagent.agentName} (${subagent.agentKey})`],
    ["Protocol", { a2a: "A2A", agui: "AG-UI", local: "local agent" }[subagent.protocol]],
    ["Delegation", subagent.delegationId],
    ["Run", subagent.runId],
    ["Tool call", subagent.parentToolCallId],
    ["Correlation", correlation && LEVELS[correlation]],
    ["Remote task", subagent.remoteTaskId],
    ["Remote context", subagent.remoteContextId],
    ["Agent card", subagent.cardFingerprint],
    ["Card before", cardChangedFrom && `${cardChangedFrom} (it changed)`],
    ["Started", timeOf(subagent.startedAt)],
    ["Ended", subagent.endedAt === undefined ? undefined : timeOf(subagent.endedAt)],
    ["You saw", sizes && formatBytes(sizes.seen)],
    ["The model got", sizes && formatBytes(sizes.model)],
    ["Stopped because", subagent.reason],
    [
      "Remote confirmed the stop",
      subagent.confirmed === undefined ? undefined : subagent.confirmed ? "yes" : "no",
    ],
  ];
}

/** What was recorded for the audit: flat values as they are, the rest as JSON. */
export function auditFacts(audit: Readonly<Record<string, unknown>>): Fact[] {
  return Object.entries(audit).map(([name, value]) => [
    name,
    typeof value === "string" || typeof value === "number" ? String(value) : JSON.stringify(value),
  ]);
}

const CLOCK = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "medium",
});

function timeOf(time: number): string {
  return CLOCK.format(new Date(time));
}
