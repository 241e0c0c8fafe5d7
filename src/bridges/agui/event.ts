import type { EventType } from "@ag-ui/core";
import type { RunEvent } from "../../core/run-event.js";
import type { SubagentEvent } from "../../delegation/events.js";
import type { JournalEntry } from "../../journal/journal.js";

/** Anything that a thread's journal holds. */
export type ThreadEvent = RunEvent | SubagentEvent;

/** One entry of a thread's journal. */
export type ThreadEntry = JournalEntry<ThreadEvent>;

/** An AG-UI event before the fields that all share are added. */
export interface AguiEvent {
  readonly type: `${EventType}`;
  readonly [field: string]: unknown;
}

/** Turns one entry into one AG-UI event, or into nothing. Pure: an encoder has no memory of earlier entries. */
export type Encode = (entry: ThreadEntry) => AguiEvent | undefined;

/** A `CUSTOM` event. `value` is mandatory in AG-UI 1.0. */
export function custom(name: string, value: unknown): AguiEvent {
  return { type: "CUSTOM", name, value };
}
