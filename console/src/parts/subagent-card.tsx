import { type KeyboardEvent, memo, useEffect, useId, useRef, useState } from "react";
import {
  isSubagentOver,
  latestText,
  type SubagentView,
  subagentWord,
  summaryOf,
  type ToolCallView,
} from "../../../src/client/index.js";
import { useHighlighted, usePageFocus, useTargetIn } from "../thread/page-focus.js";
import { useThread, useWasAsked } from "../thread/thread-context.js";
import { useInView } from "../thread/use-in-view.js";
import { AnswerForm } from "./answer-form.js";
import { Artifacts } from "./artifact-chip.js";
import { BoundaryLine } from "./boundary-line.js";
import { Elapsed } from "./elapsed.js";
import { Icon } from "./icon.js";
import { ItemList } from "./item-list.js";
import { Markdown, StreamingMarkdown, tailOf } from "./markdown.js";
import { ProtocolMark } from "./protocol-mark.js";
import { STATE_ICONS } from "./state-icon.js";
import { ToolLine } from "./tool-call.js";

/** A remote agent at work, under the tool call that asked for it. Folds to one line and its summary when it is over. */
export const SubagentCard = memo(function SubagentCard({
  subagent,
}: {
  subagent: SubagentView;
  version: number;
}) {
  const [whole, setWhole] = useState(false);
  const body = useId();
  const focus = usePageFocus();
  const { delegationId } = subagent;
  const highlighted = useHighlighted(delegationId);
  const target = useTargetIn(delegationId);
  const card = useRef<HTMLElement>(null);
  const inView = useInView(card);
  // A card that nobody sees is not drawn again with every word.
  const drawn = useRef(subagent.version);
  if (inView) drawn.current = subagent.version;
  useEffect(() => {
    if (target) setWhole(true);
  }, [target]);
  const onKeyDown = (event: KeyboardEvent) => {
    const plain = !event.altKey && !event.ctrlKey && !event.metaKey;
    const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
    if (event.key !== "i" || !plain || typing) return;
    event.preventDefault();
    focus.inspect(delegationId);
  };
  const over = isSubagentOver(subagent.state);
  const asked = useWasAsked(subagent.delegationId) && !over;
  const state = asked ? "stopping" : subagent.state;
  return (
    <article
      ref={card}
      className={`subagent ${state} ${over && !whole ? "folded" : ""} ${highlighted ? "highlighted" : ""}`}
      aria-label={`${subagent.agentName}: ${subagentWord(state)}`}
      data-delegation={delegationId}
      data-place={delegationId}
      onKeyDown={onKeyDown}
      onFocus={() => focus.highlight(delegationId)}
      onPointerEnter={() => focus.highlight(delegationId)}
      onPointerLeave={() => focus.highlight(undefined)}
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
          <Icon name={STATE_ICONS[state]} />
          {subagentWord(state)}
        </span>
        <Elapsed from={subagent.startedAt} to={subagent.endedAt} />
        {subagent.detached && !over && <span className="detached">goes on after its run</span>}
        <span className="card-actions">
          <button
            type="button"
            className="button quiet small"
            aria-label={`Inspect ${subagent.agentName}`}
            aria-keyshortcuts="i"
            title="Inspect (I)"
            onClick={() => focus.inspect(delegationId)}
          >
            <Icon name="info" />
          </button>
          {!over && <StopDelegation subagent={subagent} asked={asked} />}
        </span>
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
          <Latest subagent={subagent} version={drawn.current} />
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
  if (thread.readOnly) return null;
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
      {subagent.takesAnswer && !thread.readOnly && (
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

const Latest = memo(function Latest({ subagent }: { subagent: SubagentView; version: number }) {
  const tools = lastTools(subagent);
  const text = latestText(subagent);
  return (
    <>
      {subagent.statusMessage && subagent.state !== "needs_you" && (
        <p className="status-message">{subagent.statusMessage}</p>
      )}
      {tools.length > TOOLS_SHOWN && <p className="muted small-text">Earlier tool calls are folded.</p>}
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
});

/** The last tool calls that a working card shows, and one more if there are more. */
function lastTools({ items }: SubagentView): ToolCallView[] {
  const tools: ToolCallView[] = [];
  for (let index = items.length - 1; index >= 0 && tools.length <= TOOLS_SHOWN; index--) {
    const item = items[index];
    if (item?.kind === "tool") tools.unshift(item);
  }
  return tools;
}

function Everything({ subagent }: { subagent: SubagentView }) {
  return (
    <>
      <ItemList items={subagent.items} owner={subagent.delegationId} />
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
