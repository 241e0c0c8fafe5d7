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

/** Something to be recorded. */
export interface NewEntry<Event extends Recordable> {
  readonly thread: string;
  readonly runId: string;
  readonly event: Event;
}

/** How a reader goes through a thread. */
export interface ReadOptions {
  /** Only entries after this cursor; all that still exist when absent. */
  readonly after?: Cursor;
  /** Wait for more at the end, until `signal` aborts. Default `false`. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** Where a run, or one of its delegations, stands in the record. */
export interface RecordedSpan {
  readonly thread: string;
  readonly runId: string;
  /** Absent for a run. */
  readonly delegationId?: string;
  /** Its first entry. */
  readonly first: Cursor;
  /** The entry that ended it; absent while it is open. */
  readonly last?: Cursor;
}

/** Which spans are wanted: the runs of that id (in one thread or in all), the delegation of that id, or the runs of a thread. */
export type SpanQuery =
  | { readonly runId: string; readonly thread?: string }
  | { readonly delegationId: string }
  | { readonly thread: string };

/**
 * The one ordered record of what happens in threads. Everything else is a reader of it.
 *
 * - An entry's place is taken at the moment `append` is called, so calls made in order are recorded in order.
 * - Readers pull, at their own pace. One that is far behind gets adjacent deltas of one text merged into the last of them;
 *   nothing else is ever merged or left out without a {@link GapEvent}.
 * - A gap is told right after the first entry that still exists, because a stream has to begin with a run's start.
 */
export interface Journal<Event extends Recordable = Recordable> {
  /** @returns the recorded entry, once it is as safe as the engine makes it. */
  append(entry: NewEntry<Event>): Promise<JournalEntry<Event>>;
  /** Batches of entries in order; never an empty batch. Ends at the end of the record unless `follow` is set. */
  read(thread: string, options?: ReadOptions): AsyncIterable<readonly JournalEntry<Event>[]>;
  /** The cursor of the newest entry, if there is any. */
  head(thread: string): Promise<Cursor | undefined>;
  /** The spans that still exist, oldest first. An engine without it cannot serve what an earlier process recorded. */
  find?(query: SpanQuery): Promise<readonly RecordedSpan[]>;
  /**
   * Takes over the runs that are open although the process that wrote them is gone. Each is given to one caller alone, who has
   * to end it. An engine that does not outlive its process has none.
   */
  adopt?(): Promise<readonly RecordedSpan[]>;
  /** Absent where no other process writes to the record. */
  readonly courier?: Courier;
  /** Ends all readers, each when it has got what is recorded, and releases resources. */
  close(): Promise<void>;
}

/** Reaches the other processes that write to the same record, for what only the one can do that runs something. */
export interface Courier {
  /**
   * Asks all others.
   * @returns the first answer; `undefined` when it is nobody's matter.
   * @throws JournalError `host_silent` when one of them may know and did not answer in time.
   */
  ask(message: unknown): Promise<unknown>;
  /** Answers what others ask from now on; `undefined` says that it is not this process's matter. Call it once, before {@link ask}. */
  serve(answer: (message: unknown) => Promise<unknown>): Promise<void>;
}

/**
 * Parses a cursor from outside (`Last-Event-ID`, `?after=`).
 * @returns the cursor in canonical form, or `undefined` when the text is not one.
 */
export function parseCursor(text: string): Cursor | undefined {
  return /^\d{1,15}$/.test(text) ? String(Number(text)) : undefined;
}
