/** Anything that can be recorded. */
export interface Recordable {
  readonly type: string;
}

/** Position in a thread's journal: a decimal integer as text, strictly increasing, never used twice. */
export type Cursor = string;

/** Something that happened in a thread, at its place in the order. */
export interface JournalEntry<Event extends Recordable = Recordable> {
  readonly cursor: Cursor;
  readonly thread: string;
  readonly runId: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly event: Event | GapEvent;
}

/** Stands where entries were trimmed before a reader could see them. */
export interface GapEvent {
  readonly type: "stream.gap";
  /** The reader asked for what follows this cursor. */
  readonly after: Cursor;
  /** The first entry that still exists. */
  readonly resumesAt: Cursor;
}
