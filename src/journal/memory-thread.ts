import { continuesText, deltaOf, withDelta } from "../core/delta.js";
import { isRunTerminal } from "../core/run-event.js";
import type { JournalEntry, Recordable, RecordedSpan } from "./journal.js";
import { SpanList } from "./span-list.js";

/** One entry, or a run of adjacent deltas of one text packed into one string. Cursors of a pack are consecutive. */
interface Stored<Event extends Recordable> {
  readonly first: number;
  readonly last: number;
  readonly runId: string;
  readonly time: number;
  readonly event: Event;
  /** Of a pack: for each delta the end of its text, and its time after the first. */
  readonly ends?: Uint32Array;
  readonly times?: Uint32Array;
}

/** Entries that wait to be packed while their run is still active. */
const PACK_BLOCK = 4_096;

/** The record of one thread in memory. Adding an entry and taking the next ones cost the same however long the thread is. */
export class MemoryThread<Event extends Recordable> {
  #stored: Stored<Event>[] = [];
  #packedUntil = 0;
  #runsOpen = new Set<string>();
  readonly #spans = new SpanList();
  #trimmedThrough: number;
  head: number;

  /** @param base cursors start above it. */
  constructor(
    readonly name: string,
    private readonly base = 0,
  ) {
    this.head = base;
    this.#trimmedThrough = base;
  }

  get active(): boolean {
    return this.#runsOpen.size > 0;
  }

  /** Stored items; packs count as one. */
  get size(): number {
    return this.#stored.length;
  }

  /** Its runs and delegations, oldest first. */
  spans(): RecordedSpan[] {
    return this.#spans.list(this.name);
  }

  append(runId: string, time: number, event: Event): JournalEntry<Event> {
    const cursor = ++this.head;
    this.#stored.push({ first: cursor, last: cursor, runId, time, event });
    if (event.type === "run.started") this.#runsOpen.add(runId);
    else if (isRunTerminal(event)) this.#runsOpen.delete(runId);
    this.#spans.record(cursor, runId, event);
    if (!this.active || this.#stored.length - this.#packedUntil >= PACK_BLOCK) this.#pack();
    return this.#entry(cursor, runId, time, event);
  }

  /**
   * The next entries after `after`, at most `limit`.
   * @param merge whether adjacent deltas of one text become one entry.
   */
  take(after: number, limit: number, merge: boolean): JournalEntry<Event>[] {
    const entries: JournalEntry<Event>[] = [];
    // Who starts at the beginning misses nothing of a thread that is still whole.
    const whole = this.#trimmedThrough === this.base && after === 0;
    const gap = after < this.#trimmedThrough && !whole ? this.#gap(after) : undefined;
    for (
      let index = this.#indexAfter(after);
      index < this.#stored.length && entries.length < limit;
      index++
    ) {
      const item = this.#stored[index];
      if (item === undefined) break;
      if (merge && entries.length > 0 && this.#mergeInto(entries, item)) continue;
      this.#unpack(item, after, merge, entries);
      if (gap !== undefined && entries.length === 1) entries.push(gap);
    }
    return entries;
  }

  /** Drops the oldest ended runs while more than `limit` items are stored. An active run is never touched. */
  trim(limit: number): void {
    while (this.#stored.length > limit) {
      const next = this.#stored.findIndex(({ event }, index) => index > 0 && event.type === "run.started");
      const first = this.#stored[0];
      if (next < 0 || first === undefined || this.#runsOpen.has(first.runId)) return;
      this.#trimmedThrough = this.#stored[next - 1]?.last ?? 0;
      this.#spans.trim(this.#trimmedThrough);
      this.#stored = this.#stored.slice(next);
      this.#packedUntil = Math.max(0, this.#packedUntil - next);
    }
  }

  #indexAfter(cursor: number): number {
    let low = 0;
    let high = this.#stored.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#stored[middle]?.last ?? 0) > cursor) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #mergeInto(entries: JournalEntry<Event>[], item: Stored<Event>): boolean {
    const previous = entries.at(-1);
    if (previous === undefined || previous.runId !== item.runId || !continuesText(previous.event, item.event))
      return false;
    const event = withDelta(item.event, (deltaOf(previous.event) ?? "") + (deltaOf(item.event) ?? ""));
    entries[entries.length - 1] = this.#entry(item.last, item.runId, item.time, event);
    return true;
  }

  #unpack(item: Stored<Event>, after: number, merge: boolean, entries: JournalEntry<Event>[]): void {
    const { ends, times, runId } = item;
    if (ends === undefined || times === undefined) {
      entries.push(this.#entry(item.last, runId, item.time, item.event));
      return;
    }
    const text = deltaOf(item.event) ?? "";
    const skip = Math.max(0, after - item.first + 1);
    const from = skip === 0 ? 0 : (ends[skip - 1] ?? 0);
    if (merge) {
      entries.push(this.#entry(item.last, runId, item.time, withDelta(item.event, text.slice(from))));
      return;
    }
    let start = from;
    for (let index = skip; index < ends.length; index++) {
      const end = ends[index] ?? start;
      const time = item.time + (times[index] ?? 0);
      entries.push(
        this.#entry(item.first + index, runId, time, withDelta(item.event, text.slice(start, end))),
      );
      start = end;
    }
  }

  /** Packs what came since the last time; each entry is looked at once. */
  #pack(): void {
    const packed: Stored<Event>[] = [];
    let group: Stored<Event>[] = [];
    const flush = () => {
      const [first] = group;
      if (first !== undefined) packed.push(group.length === 1 ? first : pack(first, group));
      group = [];
    };
    for (const item of this.#stored.splice(this.#packedUntil)) {
      const previous = group.at(-1);
      const joins =
        previous !== undefined && previous.runId === item.runId && continuesText(previous.event, item.event);
      if (!joins) flush();
      group.push(item);
    }
    flush();
    for (const item of packed) this.#stored.push(item);
    this.#packedUntil = this.#stored.length;
  }

  #gap(after: number): JournalEntry<Event> | undefined {
    const first = this.#stored[0];
    if (first === undefined) return undefined;
    const { runId, time } = first;
    const event = { type: "stream.gap", after: String(after), resumesAt: String(first.first) } as const;
    return { cursor: String(first.first), thread: this.name, runId, time, event };
  }

  #entry(cursor: number, runId: string, time: number, event: Event): JournalEntry<Event> {
    return { cursor: String(cursor), thread: this.name, runId, time, event };
  }
}

function pack<Event extends Recordable>(
  first: Stored<Event>,
  group: readonly Stored<Event>[],
): Stored<Event> {
  const ends = new Uint32Array(group.length);
  const times = new Uint32Array(group.length);
  const pieces: string[] = [];
  let length = 0;
  group.forEach((item, index) => {
    const delta = deltaOf(item.event) ?? "";
    pieces.push(delta);
    length += delta.length;
    ends[index] = length;
    times[index] = Math.max(0, item.time - first.time);
  });
  const last = group.at(-1)?.last ?? first.last;
  return {
    first: first.first,
    last,
    runId: first.runId,
    time: first.time,
    event: withDelta(first.event, pieces.join("")),
    ends,
    times,
  };
}
