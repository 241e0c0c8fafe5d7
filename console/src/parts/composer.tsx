import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import type { RunView } from "../../../src/client/index.js";
import type { ListingState } from "../thread/host-listing.js";
import { useWasAsked } from "../thread/thread-context.js";
import type { ThreadStore } from "../thread/thread-store.js";
import { Icon } from "./icon.js";

interface ComposerProps {
  readonly store: ThreadStore;
  readonly hosts: ListingState;
  readonly working: boolean;
  readonly onSend: (agent: string, text: string) => void;
}

/** Where a person writes. While a run works, its send button is a stop button. */
export function Composer({ store, hosts, working, onSend }: ComposerProps) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<string>();
  const field = useRef<HTMLTextAreaElement>(null);
  const agents = hosts.listing?.agents ?? [];
  const agent = chosen ?? agents[0]?.key;
  const canSend = !working && agent !== undefined && text.trim() !== "";
  const run = store.activeRun;

  const send = () => {
    if (!canSend || agent === undefined) return;
    onSend(agent, text.trim());
    setText("");
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter that ends the input of a composed character is not a send.
    if (event.key !== "Enter" || event.shiftKey || event.altKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };

  return (
    <footer className="composer">
      <div className="column">
        {store.problem !== undefined && (
          <p className="banner" role="alert">
            {store.problem}
            <button type="button" className="button quiet" onClick={() => store.dismissProblem()}>
              Dismiss
            </button>
          </p>
        )}
        <form
          className="composer-box"
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          <textarea
            ref={field}
            rows={1}
            value={text}
            aria-label="Message"
            placeholder={working ? "Next message…" : "Write a message…"}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={onKeyDown}
          />
          {agents.length > 1 && (
            <select aria-label="Agent" value={agent} onChange={(event) => setChosen(event.target.value)}>
              {agents.map(({ key, name }) => (
                <option key={key} value={key}>
                  {name}
                </option>
              ))}
            </select>
          )}
          {run ? (
            <StopRun key={run.runId} store={store} run={run} />
          ) : (
            <button type="submit" className="button primary" disabled={!canSend}>
              <Icon name="send" />
              Send
            </button>
          )}
        </form>
        <p className="hint wide-only">
          <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> starts a new line
          {run && (
            <>
              , <kbd>Esc</kbd> twice stops
            </>
          )}
        </p>
      </div>
    </footer>
  );
}

/** Milliseconds within which the second Escape has to follow. */
const CONFIRM_MS = 3_000;

function StopRun({ store, run }: { store: ThreadStore; run: RunView }) {
  const asked = useWasAsked(run.runId);
  const [armed, setArmed] = useState(false);
  useEffect(() => {
    const onKeyDown = (event: globalThis.KeyboardEvent) => {
      if (event.key !== "Escape" || event.isComposing || event.repeat) return;
      if (armed) void store.stopRun(run.runId);
      setArmed(!armed);
    };
    document.addEventListener("keydown", onKeyDown);
    const timer = armed ? setTimeout(() => setArmed(false), CONFIRM_MS) : undefined;
    return () => {
      document.removeEventListener("keydown", onKeyDown);
      clearTimeout(timer);
    };
  }, [armed, store, run]);
  return (
    <button
      type="button"
      className={`button stop ${armed ? "armed" : ""}`}
      disabled={asked}
      onClick={() => void store.stopRun(run.runId)}
    >
      <Icon name="square" />
      {asked ? "Stopping…" : armed ? "Esc again stops" : "Stop"}
    </button>
  );
}
