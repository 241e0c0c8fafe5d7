import type { ThreadEntry } from "../../bridges/agui/event.js";
import type { RunView } from "../../client/view.js";

/** Shows a run in a terminal. */
export interface Printer {
  /** `entry` has happened; `run` is what the run looks like now. */
  update(run: RunView, entry: ThreadEntry): void;
  /** Something that the command itself has to say. */
  note(text: string): void;
  /** The run is over. */
  end(run: RunView): void;
  /** Gives the terminal back. */
  close(): void;
}

/** What a person at the terminal can say. */
export interface Replies {
  /** Decides an approval of the local agent. */
  decide(approvalId: string, approve: boolean): void;
  /** Answers what a remote agent asks; JSON objects count as data. */
  answer(delegationId: string, text: string): void;
}
