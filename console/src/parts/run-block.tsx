import { memo } from "react";
import { isPending, type RunView, runNeedsYou, runWord } from "../../../src/client/index.js";
import { messagePlace } from "../search/places.js";
import { usePageFocus } from "../thread/page-focus.js";
import { useThread } from "../thread/thread-context.js";
import { ApprovalCard } from "./approval-card.js";
import { Elapsed } from "./elapsed.js";
import { Icon } from "./icon.js";
import { ItemList } from "./item-list.js";
import { SubagentCard } from "./subagent-card.js";

/** A person's message and everything that came of it. Renders again only when its `version` grew. */
export const RunBlock = memo(function RunBlock({ run }: { run: RunView; version: number }) {
  const loose = run.approvals.filter(
    ({ request }) => request.toolCallId === undefined || !hasTool(run, request.toolCallId),
  );
  return (
    <section
      className="run"
      aria-label={
        run.userMessages
          .map(({ text }) => text)
          .join(" ")
          .slice(0, 80) || "Run"
      }
    >
      {run.userMessages.map((message, index) => (
        <div key={message.id} className="user-message" data-place={messagePlace(run.runId, index)}>
          {message.text}
        </div>
      ))}
      <ItemList items={run.items} owner={run.runId} />
      {run.subagents.map((subagent) => (
        <SubagentCard key={subagent.delegationId} subagent={subagent} version={subagent.version} />
      ))}
      {loose.map((approval) => (
        <ApprovalCard key={approval.request.approvalId} approval={approval} version={approval.version} />
      ))}
      {run.plan.length > 0 && <Plan steps={run.plan} />}
      <Notices run={run} />
      <RunStatus run={run} />
    </section>
  );
});

function hasTool(run: RunView, toolCallId: string): boolean {
  return run.items.some(
    (item) => item.kind === "tool" && item.id === toolCallId && item.approvals.length > 0,
  );
}

const STEP_WORDS = { pending: "to do", in_progress: "being done", completed: "done" } as const;

function Plan({ steps }: { steps: RunView["plan"] }) {
  return (
    <ol className="plan" aria-label="Plan">
      {steps.map((step, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the plan is replaced as a whole
        <li key={index} className={step.status}>
          <Icon
            name={step.status === "completed" ? "check" : step.status === "in_progress" ? "ring" : "dots"}
          />
          <span>{step.text}</span>
          <span className="visually-hidden">{`, ${STEP_WORDS[step.status]}`}</span>
        </li>
      ))}
    </ol>
  );
}

function Notices({ run }: { run: RunView }) {
  const warnings = run.notices.filter(({ level }) => level === "warning");
  const latest = warnings.at(-1);
  if (!latest) return null;
  return (
    <p className="notice">
      <Icon name="alert" /> {latest.message || latest.code}
      {warnings.length > 1 && <span className="muted">{` (${warnings.length} notices)`}</span>}
    </p>
  );
}

/** Plays a run that is over again. */
function ReplayButton({ run }: { run: RunView }) {
  const focus = usePageFocus();
  const thread = useThread();
  if (thread.readOnly) return null;
  return (
    <button type="button" className="earlier" onClick={() => focus.replay(run.runId)}>
      Replay
    </button>
  );
}

function RunStatus({ run }: { run: RunView }) {
  if (run.status === "running") {
    const waits = runNeedsYou(run);
    return (
      <p className={`run-status ${waits ? "waiting" : "working"}`}>
        <span className="pulse" aria-hidden="true" /> {waits ? waitingFor(run) : runWord(run.status)}{" "}
        <Elapsed from={run.startedAt} to={undefined} />
      </p>
    );
  }
  if (run.error) {
    return (
      <div className="problem">
        <Icon name="alert" />
        <p>
          <strong>The run failed.</strong> {run.error.message} <code className="muted">{run.error.code}</code>{" "}
          <Elapsed from={run.startedAt} to={run.endedAt} /> <ReplayButton run={run} />
        </p>
      </div>
    );
  }
  return (
    <p className={`run-status ${run.status}`}>
      <Icon name={run.status === "finished" ? "check" : "square"} /> {runWord(run.status)}
      {run.status === "cancelled" && run.reason === "user" ? " by you" : ""}{" "}
      <Elapsed from={run.startedAt} to={run.endedAt} />
      <ReplayButton run={run} />
    </p>
  );
}

function waitingFor(run: RunView): string {
  return run.approvals.some(isPending) ? "Waits for your answer" : "A remote agent waits for you";
}
