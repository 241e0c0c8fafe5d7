import { type KeyboardEvent, useEffect, useId, useRef } from "react";
import { type SubagentView, subagentWord } from "../../../src/client/index.js";
import { Elapsed } from "../parts/elapsed.js";
import { Icon } from "../parts/icon.js";
import { CopyButton, JsonText } from "../parts/json-text.js";
import { STATE_ICONS } from "../parts/state-icon.js";
import { useInspected, usePageFocus } from "../thread/page-focus.js";
import { useThreadVersion } from "../thread/thread-context.js";
import type { ThreadStore } from "../thread/thread-store.js";
import { adviceFor } from "./error-advice.js";
import { auditFacts, Facts, factsOf } from "./facts.js";
import { History } from "./history.js";
import { RawEvents } from "./raw-events.js";
import { useRecord } from "./use-record.js";

/** The drawer that tells everything about one delegation. */
export function Inspector({ store }: { store: ThreadStore }) {
  const inspected = useInspected();
  useThreadVersion(store);
  const subagent = inspected === undefined ? undefined : store.subagent(inspected);
  return subagent && <Drawer key={subagent.delegationId} subagent={subagent} />;
}

function Drawer({ subagent }: { subagent: SubagentView }) {
  const focus = usePageFocus();
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const { delegationId, state, error } = subagent;
  useEffect(() => {
    const element = dialog.current;
    if (!element) return;
    // A modal dialog keeps the focus, and gives it back to where it came from.
    element.showModal();
    return () => element.close();
  }, []);
  const shape = `${subagent.phases.length} ${subagent.marks.length} ${subagent.endedAt} ${subagent.remoteTaskId}`;
  const { record, problem } = useRecord(delegationId, shape);
  const first = record?.history[0]?.cursor;
  const close = () => {
    if (!dialog.current?.open) focus.inspect(undefined);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Not the first of the two that stop the run.
    if (event.key === "Escape") event.stopPropagation();
  };
  return (
    <dialog
      ref={dialog}
      className="inspector"
      aria-labelledby={heading}
      onClose={close}
      onKeyDown={onKeyDown}
      onClick={(event) => {
        if (event.target === event.currentTarget) dialog.current?.close();
      }}
    >
      <div className="inspector-head">
        <h2 id={heading}>{subagent.agentName}</h2>
        <span className={`state ${state}`}>
          <Icon name={STATE_ICONS[state]} />
          {subagentWord(state)}
        </span>
        <Elapsed from={subagent.startedAt} to={subagent.endedAt} />
        <span className="card-actions">
          <CopyButton text={() => JSON.stringify(record?.raw ?? subagent, null, 2)} label="Copy as JSON" />
          <button
            type="button"
            className="button quiet small"
            aria-label="Close"
            onClick={() => dialog.current?.close()}
          >
            <Icon name="cross" />
          </button>
        </span>
      </div>
      <div className="inspector-body">
        {error && <Trouble error={error} />}
        {subagent.objective && (
          <section>
            <h3>Task</h3>
            <p className="plain-text">{subagent.objective}</p>
          </section>
        )}
        <section>
          <h3>Facts</h3>
          <Facts facts={factsOf(subagent)} />
        </section>
        {record?.audit && (
          <section>
            <h3>Audit</h3>
            <Facts facts={auditFacts(record.audit)} />
          </section>
        )}
        <section>
          <h3>History</h3>
          {record && record.history.length > 0 ? (
            <History entries={record.history} />
          ) : (
            <p className="muted">{problem ?? (record ? "Nothing is recorded." : "Asking the host…")}</p>
          )}
          {first !== undefined && <RawEvents delegationId={delegationId} first={first} />}
        </section>
        {subagent.result !== undefined && (
          <section>
            <h3>What the model got</h3>
            <JsonText text={JSON.stringify(subagent.result)} />
          </section>
        )}
      </div>
    </dialog>
  );
}

function Trouble({ error }: { error: NonNullable<SubagentView["error"]> }) {
  const advice = adviceFor(error.code);
  return (
    <section className="problem">
      <Icon name="alert" />
      <div>
        <p>
          <strong>{error.message}</strong>
        </p>
        <p>
          <code>{error.code}</code>
          {error.remoteStatus !== undefined && ` · the agent’s word: ${error.remoteStatus}`}
          {error.retryable ? " · may work another time" : ""}
        </p>
        {advice && <p>{advice}</p>}
      </div>
    </section>
  );
}
