import { memo, useId, useState } from "react";
import {
  isSubagentOver,
  latestText,
  type SubagentState,
  type SubagentView,
  subagentWord,
  summaryOf,
  type ToolCallView,
} from "../../../src/client/index.js";
import { useThread, useWasAsked } from "../thread/thread-context.js";
import { AnswerForm } from "./answer-form.js";
import { Artifacts } from "./artifact-chip.js";
import { BoundaryLine } from "./boundary-line.js";
import { Elapsed } from "./elapsed.js";
import { Icon, type IconName } from "./icon.js";
import { ItemList } from "./item-list.js";
import { Markdown, StreamingMarkdown, tailOf } from "./markdown.js";
import { ProtocolMark } from "./protocol-mark.js";
import { ToolLine } from "./tool-call.js";

const ICONS: Readonly<Record<SubagentState, IconName>> = {
  starting: "dots",
  working: "ring",
  needs_you: "alert",
  stopping: "square",
  done: "check",
  failed: "cross",
  stopped: "square",
};

/** A remote agent at work, under the tool call that asked for it. Folds to one line and its summary when it is over. */
export const SubagentCard = memo(function SubagentCard({
  subagent,
}: {
  subagent: SubagentView;
  version: number;
}) {
  const [whole, setWhole] = useState(false);
  const body = useId();
  const over = isSubagentOver(subagent.state);
  const asked = useWasAsked(subagent.delegationId) && !over;
  const state = asked ? "stopping" : subagent.state;
  return (
    <article
      className={`subagent ${state} ${over && !whole ? "folded" : ""}`}
      aria-label={`${subagent.agentName}: ${subagentWord(state)}`}
      data-delegation={subagent.delegationId}
    >
      <div className="subagent-head">
        <button
          type="button"
          className="subagent-toggle"
          aria-expanded={whole}
          aria-controls={body}
          title={whole ? "Show less" : "Show everything it did"}
          onClick={() => setWhole(!whole)}
        >
          <Icon name="chevron" className="turns" />
          <ProtocolMark protocol={subagent.protocol} />
          <span className="agent-name">{subagent.agentName}</span>
        </button>
        <span className={`state ${state}`}>
          <Icon name={ICONS[state]} />
          {subagentWord(state)}
        </span>
        <Elapsed from={subagent.startedAt} to={subagent.endedAt} />
        {!over && <StopDelegation subagent={subagent} asked={asked} />}
      </div>
      <div className="subagent-body" id={body}>
        {(whole || !over) && subagent.objective && (
          <p className={`objective ${whole ? "" : "clamp"}`}>{subagent.objective}</p>
        )}
        {whole ? (
          <Everything subagent={subagent} />
        ) : over ? (
          <Summary subagent={subagent} />
        ) : (
          <Latest subagent={subagent} />
        )}
        {subagent.state === "needs_you" && <Question key={subagent.questionCount} subagent={subagent} />}
        <Artifacts subagent={subagent} />
        {over && <BoundaryLine subagent={subagent} />}
      </div>
    </article>
  );
});

function StopDelegation({ subagent, asked }: { subagent: SubagentView; asked: boolean }) {
  const thread = useThread();
  return (
    <button
      type="button"
      className="button small"
      disabled={asked || subagent.state === "stopping"}
      aria-label={`Stop ${subagent.agentName}`}
      onClick={() => void thread.stopDelegation(subagent.delegationId)}
    >
      Stop
    </button>
  );
}

/** What the remote asks, and a form to answer it. An authorisation is given elsewhere, so that one only says so. */
function Question({ subagent }: { subagent: SubagentView }) {
  const thread = useThread();
  const answered = useWasAsked(`${subagent.delegationId}?${subagent.questionCount}`);
  return (
    <section className="asks" aria-label={`${subagent.agentName} asks`}>
      <p>
        <strong>It waits for you.</strong> {subagent.prompt ?? subagent.statusMessage}
      </p>
      {subagent.takesAnswer && (
        <AnswerForm
          schema={subagent.schema}
          disabled={answered}
          onAnswer={(input) => void thread.answer(subagent, input)}
        />
      )}
    </section>
  );
}

/** How many of its own tool calls a working card shows. */
const TOOLS_SHOWN = 4;

function Latest({ subagent }: { subagent: SubagentView }) {
  const tools = subagent.items.filter((item): item is ToolCallView => item.kind === "tool");
  const text = latestText(subagent);
  const hidden = tools.length - TOOLS_SHOWN;
  return (
    <>
      {subagent.statusMessage && subagent.state !== "needs_you" && (
        <p className="status-message">{subagent.statusMessage}</p>
      )}
      {hidden > 0 && (
        <p className="muted small-text">{`${hidden} earlier tool ${hidden === 1 ? "call" : "calls"}`}</p>
      )}
      {tools.slice(-TOOLS_SHOWN).map((tool) => (
        <ToolLine key={tool.id} call={tool} />
      ))}
      {text && (
        <div className="latest">
          <StreamingMarkdown text={tailOf(text)} />
        </div>
      )}
    </>
  );
}

function Everything({ subagent }: { subagent: SubagentView }) {
  return (
    <>
      <ItemList items={subagent.items} />
      {subagent.error && <Failure subagent={subagent} />}
      {!subagent.error && subagent.state === "stopped" && <p className="summary">{summaryOf(subagent)}</p>}
      <dl className="facts">
        <dt>Delegation</dt>
        <dd>{subagent.delegationId}</dd>
        {subagent.remoteTaskId !== undefined && (
          <>
            <dt>Remote task</dt>
            <dd>{subagent.remoteTaskId}</dd>
          </>
        )}
      </dl>
    </>
  );
}

function Summary({ subagent }: { subagent: SubagentView }) {
  if (subagent.error) return <Failure subagent={subagent} />;
  const summary = summaryOf(subagent);
  if (!summary) return null;
  return (
    <div className="summary clamp">
      <Markdown text={summary} />
    </div>
  );
}

function Failure({ subagent: { error } }: { subagent: SubagentView }) {
  if (!error) return null;
  return (
    <p className="failure">
      {error.message} <code className="muted">{error.code}</code>
      {error.retryable && <span className="muted"> It may work another time.</span>}
    </p>
  );
}
