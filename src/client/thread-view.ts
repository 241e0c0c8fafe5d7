import { compareCursors } from "./cursor.js";
import type { AgUiEvent, ThreadFrame } from "./event-stream.js";
import { listOf, type Members, membersOf, nameOf, numberOf, textOf } from "./members.js";
import { RunFold } from "./run-fold.js";
import type { RunView, ThreadView } from "./view.js";
import { ViewTree, type Writable } from "./view-tree.js";

/** Folds frames into a {@link ThreadView}. */
export interface ThreadViewReducer {
  readonly view: ThreadView;
  /**
   * Takes the next frame. Never throws, whatever it holds: unknown events are ignored, and so is a frame whose cursor is not
   * newer than the last one. Costs the same at the end of a long run as at its beginning.
   */
  apply(frame: ThreadFrame): void;
  run(runId: string): RunView | undefined;
}

/** Makes a reducer for one thread, read from its beginning or from wherever its frames begin. */
export function createThreadView(): ThreadViewReducer {
  return new ThreadFold();
}

class ThreadFold implements ThreadViewReducer {
  readonly view: Writable<ThreadView> = { version: 0, runs: [], gaps: [] };
  readonly #tree = new ViewTree();
  readonly #runs = new Map<string, RunFold>();
  #current: RunFold | undefined;
  #time = 0;
  /** The run that holds what delegations do after their own. It is none that a person knows of. */
  #late: string | undefined;

  run(runId: string): RunView | undefined {
    return this.#runs.get(runId)?.view;
  }

  apply({ cursor, event }: ThreadFrame): void {
    const custom = event.type === "CUSTOM" ? textOf(event, "name") : undefined;
    if (cursor !== undefined) {
      const old = this.view.cursor !== undefined && compareCursors(cursor, this.view.cursor) <= 0;
      if (old && custom !== "stream.gap") return;
      if (!old) this.view.cursor = cursor;
    }
    this.#time = numberOf(event, "timestamp") ?? this.#time;
    if (custom !== undefined) this.#custom(custom, membersOf(event.value));
    else this.#event(event);
  }

  #event(event: AgUiEvent): void {
    const runId = nameOf(event, "runId");
    if (event.type === "RUN_STARTED" && nameOf(event, "parentRunId") !== undefined && !hasMessages(event)) {
      this.#late = runId;
    } else if (this.#late !== undefined && runId === this.#late && event.type === "RUN_FINISHED") {
      this.#late = undefined;
    } else if (event.type === "RUN_STARTED") {
      this.#current = this.#started(runId);
      this.#current.start(event);
    } else if (event.type === "RUN_FINISHED" || event.type === "RUN_ERROR") {
      const fold = this.#fold(runId);
      // A run whose beginning was trimmed has no name before this.
      if (runId !== undefined && fold.view.runId === "") this.#name(fold, runId);
      fold.end(event, this.#time);
    } else if (/^(TEXT|REASONING)_MESSAGE_|^TOOL_CALL_/.test(event.type)) {
      this.#fold(undefined).content(event, this.#time);
    }
  }

  #custom(name: string, value: Members): void {
    if (name === "stream.gap") {
      this.view.gaps.push({
        after: textOf(value, "after") ?? "",
        resumesAt: textOf(value, "resumesAt") ?? "",
      });
      this.view.version++;
    } else if (name.startsWith("subagent.")) {
      this.#fold(nameOf(value, "runId")).subagent(name.slice("subagent.".length), value, this.#time);
    } else if (
      name.startsWith("approval.") ||
      name === "plan.updated" ||
      (name === "notice" && this.#current)
    ) {
      this.#fold(nameOf(value, "runId")).custom(name, value, this.#time);
    }
  }

  #started(runId: string | undefined): RunFold {
    const known = runId === undefined ? undefined : this.#runs.get(runId);
    if (known) return known;
    // Runs of a thread follow each other: the one before is over, though nothing said so.
    this.#current?.lost(this.#time);
    return this.#create(runId);
  }

  /** The fold of a run; without a name, of the current one. */
  #fold(runId: string | undefined): RunFold {
    const known = runId === undefined ? this.#current : this.#runs.get(runId);
    if (known) return known;
    const current = this.#current;
    if (runId !== undefined && current?.view.runId === "" && current.view.status === "running") {
      return this.#name(current, runId);
    }
    const fold = this.#create(runId);
    this.#current ??= fold;
    return fold;
  }

  #create(runId: string | undefined): RunFold {
    const fold = new RunFold(this.#tree, runId ?? "", this.#time);
    this.#runs.set(fold.view.runId, fold);
    this.view.runs.push(fold.view);
    this.#tree.place(fold.view, this.view);
    this.#tree.touch(fold.view);
    return fold;
  }

  #name(fold: RunFold, runId: string): RunFold {
    this.#runs.delete("");
    this.#runs.set(runId, fold);
    fold.view.runId = runId;
    this.#tree.touch(fold.view);
    return fold;
  }
}

function hasMessages(event: AgUiEvent): boolean {
  return listOf(membersOf(event.input), "messages").length > 0;
}
