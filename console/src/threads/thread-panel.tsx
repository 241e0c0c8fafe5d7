import { type KeyboardEvent, useEffect, useId, useRef, useSyncExternalStore } from "react";
import { Icon } from "../parts/icon.js";
import { ThreadList } from "./thread-list.js";
import type { Threads } from "./use-threads.js";

interface ThreadPanelProps {
  readonly threads: Threads;
  readonly current: string;
  readonly onClose: () => void;
}

const WIDE = "(min-width: 68rem)";

/** Whether there is room for the list beside the conversation. */
export function useIsWide(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = window.matchMedia(WIDE);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => window.matchMedia(WIDE).matches,
  );
}

/** The list of threads: beside the conversation where there is room, else a drawer over it. */
export function ThreadPanel(props: ThreadPanelProps) {
  const wide = useIsWide();
  const heading = useId();
  if (!wide) return <ThreadDrawer {...props} />;
  return (
    <nav className="threads" aria-labelledby={heading}>
      <h2 id={heading}>Threads</h2>
      <ThreadList threads={props.threads} current={props.current} onChoose={() => undefined} />
    </nav>
  );
}

function ThreadDrawer({ threads, current, onClose }: ThreadPanelProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    if (!element) return;
    element.showModal();
    return () => element.close();
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    // Not the first of the two that stop the run.
    if (event.key === "Escape") event.stopPropagation();
  };
  return (
    <dialog
      ref={dialog}
      className="threads drawer"
      aria-labelledby={heading}
      onClose={() => {
        if (!dialog.current?.open) onClose();
      }}
      onKeyDown={onKeyDown}
      onClick={(event) => {
        if (event.target === event.currentTarget) dialog.current?.close();
      }}
    >
      <div className="drawer-head">
        <h2 id={heading}>Threads</h2>
        <button
          type="button"
          className="button quiet small"
          aria-label="Close"
          onClick={() => dialog.current?.close()}
        >
          <Icon name="cross" />
        </button>
      </div>
      <ThreadList threads={threads} current={current} onChoose={() => dialog.current?.close()} />
    </dialog>
  );
}
