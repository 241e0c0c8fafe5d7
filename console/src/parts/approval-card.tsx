import { memo, useEffect, useId, useState } from "react";
import { type ApprovalView, isPending } from "../../../src/client/index.js";
import { useThread, useWasAsked } from "../thread/thread-context.js";
import type { Decision } from "../thread/thread-store.js";
import { AnswerForm } from "./answer-form.js";
import { Remaining } from "./elapsed.js";
import { Icon } from "./icon.js";
import { JsonText } from "./json-text.js";
import { Markdown } from "./markdown.js";

/** A question of the agent, answered here by pointer or keyboard. */
export const ApprovalCard = memo(function ApprovalCard({
  approval,
}: {
  approval: ApprovalView;
  version: number;
}) {
  return isPending(approval) ? <OpenApproval approval={approval} /> : <DecidedApproval approval={approval} />;
});

const RESOLVERS = {
  person: "you",
  policy: "policy",
  timeout: "timeout",
  run_end: "the end of the run",
  program: "the agent, which took it back",
} as const;

function DecidedApproval({ approval: { request, decision, by } }: { approval: ApprovalView }) {
  const approved = decision === "approve";
  const word = approved ? (request.kind === "question" ? "Answered" : "Approved") : "Denied";
  return (
    <p className={`approval-decided ${decision}`}>
      <Icon name={approved ? "check" : "cross"} />
      {`${word} by ${by ? RESOLVERS[by] : "you"}: `}
      <span className="muted">{request.title || request.tool}</span>
    </p>
  );
}

const HEADINGS = {
  permission: "May it do this?",
  plan: "Is this plan right?",
  question: "It asks you",
} as const;

function OpenApproval({ approval }: { approval: ApprovalView }) {
  const { request } = approval;
  const thread = useThread();
  const asked = useWasAsked(request.approvalId);
  const [note, setNote] = useState("");
  const heading = useId();
  const question = request.kind === "question";
  const decide = (decision: Decision) => void thread.decide(approval, decision);
  const deny = () => decide({ decision: "deny", ...(note.trim() && { message: note.trim() }) });
  const isFirst = () => thread.activeRun?.approvals.find(isPending) === approval;
  useAnswerKeys(isFirst, question ? undefined : () => decide({ decision: "approve" }), deny);

  return (
    <section className="approval" aria-labelledby={heading}>
      <h2 id={heading}>
        <Icon name="alert" /> {HEADINGS[request.kind]}
        <span className="muted expires">
          denied by itself in <Remaining until={request.expiresAt} />
        </span>
      </h2>
      <p className="approval-title">
        {request.tool !== undefined && <code>{request.tool}</code>} {request.title}
      </p>
      <ApprovalInput approval={approval} />
      {thread.readOnly ? null : question ? (
        <AnswerForm
          schema={request.schema}
          disabled={asked}
          onAnswer={(input) => decide({ decision: "approve", input })}
        />
      ) : (
        <label className="note">
          <span>What should it do instead? (optional, goes with a denial)</span>
          <input value={note} disabled={asked} onChange={(event) => setNote(event.target.value)} />
        </label>
      )}
      <p className="actions" hidden={thread.readOnly}>
        {!question && (
          <button
            type="button"
            className="button primary"
            disabled={asked}
            onClick={() => decide({ decision: "approve" })}
          >
            Approve <kbd>Alt Y</kbd>
          </button>
        )}
        <button type="button" className="button" disabled={asked} onClick={deny}>
          {question ? "Decline" : "Deny"} <kbd>Alt N</kbd>
        </button>
        {asked && <span className="muted">Answering…</span>}
      </p>
    </section>
  );
}

function ApprovalInput({ approval: { request } }: { approval: ApprovalView }) {
  const { input, kind } = request;
  if (input === undefined) return null;
  if (typeof input === "string")
    return kind === "permission" ? <pre className="preview">{input}</pre> : <Markdown text={input} />;
  const plan = typeof input === "object" && input !== null && "plan" in input ? input.plan : undefined;
  if (kind === "plan" && typeof plan === "string") return <Markdown text={plan} />;
  return <JsonText text={JSON.stringify(input)} />;
}

/** Letters with Alt, so that they work wherever the focus is and nobody answers by typing a message. They answer the oldest question. */
function useAnswerKeys(isFirst: () => boolean, approve: (() => void) | undefined, deny: () => void): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (
        !event.altKey ||
        event.ctrlKey ||
        event.metaKey ||
        event.repeat ||
        event.defaultPrevented ||
        !isFirst()
      )
        return;
      // By the place of the key: on a Mac Alt makes other characters of them.
      const answer = event.code === "KeyY" ? approve : event.code === "KeyN" ? deny : undefined;
      if (!answer) return;
      event.preventDefault();
      answer();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  });
}
