import { type Clock, systemClock, type Timer } from "../core/clock.js";
import { createId } from "../core/ids.js";
import { wellFormed } from "../core/text.js";
import type {
  Journal,
  JournalEntry,
  NewEntry,
  ReadOptions,
  Recordable,
  RecordedSpan,
  SpanQuery,
} from "./journal.js";
import { JournalError } from "./journal-error.js";
import { planRead, readBatch, type StoredEntry } from "./read-batch.js";
import { RedisConnection } from "./redis-connection.js";
import { RedisCourier } from "./redis-courier.js";
import { RedisKeys } from "./redis-keys.js";
import { RedisOwner } from "./redis-owner.js";
import { ADOPT, APPEND, CLOSED, OPENED, OWNERS, READ } from "./redis-scripts.js";
import { delegationOf, matches, type SpanMark, spanMark } from "./span-list.js";
import { untilBurstIsOver, WaitingReaders } from "./waiting-readers.js";

/** Options of {@link createRedisJournal}. */
export interface RedisJournalOptions {
  /** `redis://` or `rediss://`; Redis or Valkey 7 and newer. */
  readonly url: string;
  /** Begins all keys: one for each deployment. Default `troupe`. */
  readonly prefix?: string;
  /** Entries kept of one thread; whole ended runs beyond it are dropped, oldest first. Default 1,000,000. */
  readonly maxEntriesPerThread?: number;
  /** How long a thread is kept after the end of its last run, in milliseconds. Default 30 days. */
  readonly retentionMs?: number;
  /** Entries that a reader takes at once. Default 512. */
  readonly batch?: number;
  /** A reader further behind than this many entries gets deltas merged. Default 1,024. */
  readonly mergeBeyond?: number;
  /** How often waiting readers look for what they were not told of, in milliseconds. Default 1,000. */
  readonly pollMs?: number;
  /** How long the server may be away until appends and reads fail, in milliseconds. Default 30,000. */
  readonly outageMs?: number;
  /** After what silence a host counts as gone, in milliseconds. Default 15,000. */
  readonly leaseMs?: number;
  /** Gets the ids of delegations that are no longer kept. */
  readonly onDropped?: (delegationIds: readonly string[]) => void;
  readonly clock?: Clock;
}

/**
 * A {@link Journal} in Redis, which any number of hosts may write and read at once. Needs the package `redis`.
 * @throws JournalError which says what to do.
 */
export async function createRedisJournal<Event extends Recordable>(
  options: RedisJournalOptions,
): Promise<Journal<Event>> {
  const { url, prefix = "troupe", outageMs = OUTAGE_MS, clock = systemClock } = options;
  const keys = new RedisKeys(prefix);
  return new RedisJournal<Event>(await RedisConnection.open({ url, outageMs, clock }), keys, options);
}

interface Waiting<Event extends Recordable> {
  readonly entry: NewEntry<Event>;
  readonly time: number;
  readonly json: string;
  readonly mark: SpanMark;
  resolve(entry: JournalEntry<Event>): void;
  reject(error: unknown): void;
}

/** Entries of one thread that are written at once at most. */
const COMMIT = 1_000;
/** Rows of a batch whose deltas are merged. */
const MERGED_ROWS = 2_048;
const OUTAGE_MS = 30_000;
const RETENTION_MS = 30 * 24 * 3_600_000;

/** A journal on an open connection, which it closes. */
export class RedisJournal<Event extends Recordable> implements Journal<Event> {
  readonly #waiting = new WaitingReaders();
  readonly #queues = new Map<string, Waiting<Event>[]>();
  readonly #writing = new Map<string, Promise<void>>();
  readonly #owner: RedisOwner;
  readonly courier: RedisCourier;
  readonly #clock: Clock;
  readonly #limits: { readonly batch: number; readonly mergeBeyond: number };
  /** Names of looks for abandoned work that had no answer, by their threads. */
  readonly #adopting = new Map<string, string>();
  #batches = 0;
  #places = 0;
  #poll: Timer | undefined;
  #listening: Promise<void> | undefined;
  #readers = 0;
  #closed = false;

  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    private readonly options: RedisJournalOptions,
  ) {
    const { clock = systemClock, leaseMs = 15_000, batch = 512, mergeBeyond = 1_024 } = options;
    this.#clock = clock;
    this.#limits = { batch, mergeBeyond };
    this.#owner = new RedisOwner(connection, keys, createId("host"), leaseMs, clock);
    this.courier = new RedisCourier(connection, keys, this.#owner.id, clock, createId);
  }

  append(entry: NewEntry<Event>): Promise<JournalEntry<Event>> {
    return new Promise((resolve, reject) => {
      const { thread, runId, event } = entry;
      if (this.#closed) throw new JournalError("journal_closed", "The journal is closed.");
      if (wellFormed(thread) !== thread || wellFormed(runId) !== runId)
        throw new JournalError("journal_failed", "The id of a thread or a run is no valid text.");
      const json = JSON.stringify(event);
      const time = this.#clock.now();
      const queue = this.#queues.get(thread) ?? [];
      this.#queues.set(thread, queue);
      queue.push({ entry, time, json, mark: spanMark(event), resolve, reject });
      if (!this.#writing.has(thread)) this.#writing.set(thread, this.#write(thread, queue));
    });
  }

  async *read(thread: string, options: ReadOptions = {}): AsyncGenerator<readonly JournalEntry<Event>[]> {
    const { follow = false, signal } = options;
    let after = Number(options.after ?? 0);
    this.#readers++;
    try {
      await this.#writing.get(thread);
      if (follow && !this.#closed) await this.#listen();
      while (signal?.aborted !== true) {
        // It waits before it looks, so that nothing that comes meanwhile is missed.
        const looked = new AbortController();
        const more = this.#waiting.wait(thread, looked.signal);
        const entries = await this.#take(thread, after).catch((error: unknown) => {
          looked.abort("failed");
          throw error;
        });
        const last = entries.at(-1);
        if (last !== undefined || !follow || this.#closed) looked.abort("found");
        if (last !== undefined) {
          after = Number(last.cursor);
          yield entries;
        } else if (!follow || this.#closed) return;
        else {
          const stop = () => looked.abort("stopped");
          signal?.addEventListener("abort", stop, { once: true });
          if (signal?.aborted) stop();
          this.#pollLater();
          await more;
          signal?.removeEventListener("abort", stop);
          await untilBurstIsOver();
        }
      }
    } finally {
      this.#readers--;
      if (this.#closed && this.#readers === 0) this.connection.close();
    }
  }

  async head(thread: string): Promise<string | undefined> {
    await this.#writing.get(thread);
    const head = await this.connection.command(["HGET", this.keys.thread(thread).state, "head"]);
    return typeof head === "string" ? head : undefined;
  }

  async find(query: SpanQuery): Promise<readonly RecordedSpan[]> {
    await Promise.all(this.#writing.values());
    const spans = await Promise.all((await this.#threadsOf(query)).map((thread) => this.#spans(thread)));
    return spans.flat().filter((span) => matches(span, query));
  }

  async adopt(): Promise<readonly RecordedSpan[]> {
    await this.#owner.hold();
    const threads = texts(await this.connection.command(["ZRANGE", this.keys.openThreads, "0", "-1"]));
    const looks = await Promise.allSettled(threads.sort().map((thread) => this.#adopt(thread)));
    const taken = looks.flatMap((look) => (look.status === "fulfilled" ? look.value : []));
    const failed = looks.find((look) => look.status === "rejected");
    // What was taken is this owner's now, so it is told; where a look failed, the next one looks again.
    if (failed !== undefined && taken.length === 0) throw failed.reason;
    return taken;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all(this.#writing.values());
    this.#poll?.cancel();
    await this.#owner.release();
    this.#waiting.wakeAll();
    for (let turn = 0; turn < 20 && this.#readers > 0; turn++) await untilBurstIsOver();
    if (this.#readers === 0) this.connection.close();
  }

  /** Writes what waits for a thread, in its order, one batch after the other. Never rejects. */
  async #write(thread: string, queue: Waiting<Event>[]): Promise<void> {
    // What comes in the same turn of the event loop goes together.
    await untilBurstIsOver();
    for (let batch = queue.splice(0, COMMIT); batch.length > 0; batch = queue.splice(0, COMMIT)) {
      try {
        await this.#commit(thread, batch);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#queues.delete(thread);
    this.#writing.delete(thread);
  }

  async #commit(thread: string, batch: readonly Waiting<Event>[]): Promise<void> {
    const { maxEntriesPerThread = 1_000_000, retentionMs = RETENTION_MS, onDropped } = this.options;
    const keys = this.keys.thread(thread);
    await this.#announce(thread, batch);
    const args = [
      this.#owner.id,
      String(++this.#batches),
      String(maxEntriesPerThread),
      String(retentionMs),
      this.keys.wakeUps,
      thread,
      ...batch.flatMap(({ entry: { runId, event }, time, json, mark }) => [
        runId,
        String(time),
        event.type,
        json,
        mark?.at ?? "",
        delegationOf(event) ?? "",
      ]),
    ];
    const { entries, state, spans, starts, runStarts, open } = keys;
    const answer = await this.connection.run(APPEND, [entries, state, spans, starts, runStarts, open], args);
    const [first, dropped, refused] = Array.isArray(answer) ? answer : [];
    const refusals = new Map(Array.isArray(refused) ? (refused as [number, string][]) : []);
    let cursor = Number(first);
    batch.forEach(({ entry, time, resolve, reject }, index) => {
      const refusal = refusals.get(index);
      if (refusal === undefined) resolve({ cursor: String(cursor++), ...entry, time });
      else reject(refusedEntry(refusal, entry));
    });
    this.#waiting.wake(thread);
    if (texts(dropped).length > 0) onDropped?.(texts(dropped));
  }

  /** What begins is found by its id, and as something that is open, before it begins: never the other way round. */
  async #announce(thread: string, batch: readonly Waiting<Event>[]): Promise<void> {
    const starts = batch.filter(({ mark }) => mark?.at === "start");
    if (starts.length === 0) return;
    await this.#owner.hold();
    const { retentionMs = RETENTION_MS } = this.options;
    const indexes = new Set(
      starts.map(({ entry: { runId, event } }) => {
        const delegationId = delegationOf(event);
        return delegationId === undefined ? this.keys.run(runId) : this.keys.delegation(delegationId);
      }),
    );
    const place = this.#clock.now() + ++this.#places / 1_000_000;
    await Promise.all([
      this.connection.run(OPENED, [this.keys.openThreads], [thread]),
      ...[...indexes].flatMap((key) => [
        this.connection.command(["ZADD", key, "NX", String(place), thread]),
        this.connection.command(["PEXPIRE", key, String(retentionMs * 2)]),
      ]),
    ]);
  }

  async #take(name: string, after: number): Promise<JournalEntry<Event>[]> {
    const { entries, state } = this.keys.thread(name);
    const { batch, mergeBeyond } = this.#limits;
    const args = [after, batch, MERGED_ROWS, mergeBeyond].map(String);
    const answer = await this.connection.run(READ, [entries, state], args);
    const [head, first, rows] = Array.isArray(answer) ? answer : [];
    const thread = { name, head: Number(head), first: Number(first), base: 0 };
    const plan = planRead(thread, after, this.#limits);
    return readBatch(thread, plan, stored(rows), this.#limits, "Redis");
  }

  async #threadsOf(query: SpanQuery): Promise<string[]> {
    if ("thread" in query && query.thread !== undefined) return [query.thread];
    const key =
      "delegationId" in query
        ? this.keys.delegation(query.delegationId)
        : this.keys.run("runId" in query ? query.runId : "");
    return texts(await this.connection.command(["ZRANGE", key, "0", "-1"]));
  }

  async #spans(thread: string): Promise<RecordedSpan[]> {
    const spans = texts(await this.connection.command(["HVALS", this.keys.thread(thread).spans]));
    return spans
      .map((json) => spanOf(thread, json))
      .sort((left, right) => Number(left.first) - Number(right.first));
  }

  async #adopt(thread: string): Promise<RecordedSpan[]> {
    const { spans, open, state } = this.keys.thread(thread);
    const owners = [...new Set(texts(await this.connection.run(OWNERS, [spans, open], [])))];
    if (owners.length === 0) {
      this.#adopting.delete(thread);
      // Nothing is open, or not yet: what was announced a moment ago may still be on its way.
      const longest = 2 * (this.options.outageMs ?? OUTAGE_MS);
      await this.connection.run(CLOSED, [this.keys.openThreads], [thread, String(longest)]);
      return [];
    }
    const gone = await this.#owner.gone(owners);
    const unanswered = this.#adopting.get(thread);
    if (gone.length === 0 && unanswered === undefined) return [];
    const look = unanswered ?? createId("look");
    this.#adopting.set(thread, look);
    const args = [this.#owner.id, look, ...gone];
    const taken = texts(await this.connection.run(ADOPT, [spans, open, state], args));
    this.#adopting.delete(thread);
    return taken
      .map((json) => spanOf(thread, json))
      .sort((left, right) => Number(left.first) - Number(right.first));
  }

  #listen(): Promise<void> {
    this.#listening ??= this.connection
      .subscribe(this.keys.wakeUps, (thread) => this.#waiting.wake(thread))
      .catch(() => {
        // Readers look by themselves in the meantime.
        this.#listening = undefined;
      });
    return this.#listening;
  }

  /** Messages may be lost, so whoever waits looks now and then. */
  #pollLater(): void {
    if (this.#poll !== undefined || this.#closed) return;
    this.#poll = this.#clock.timer(this.options.pollMs ?? 1_000, () => {
      this.#poll = undefined;
      this.#waiting.wakeAll();
    });
  }
}

function refusedEntry(why: string, { thread, runId }: NewEntry<Recordable>): JournalError {
  if (why === "busy") {
    const text = "Another host's run is still working in this thread. Wait for its end, or cancel it.";
    return new JournalError("thread_busy", text, { retryable: true });
  }
  return new JournalError("taken_over", `Run ${runId} of ${thread} is not this host's, or no longer.`);
}

function* stored(rows: unknown): Generator<StoredEntry> {
  if (!Array.isArray(rows)) return;
  for (const row of rows) {
    const [id, fields] = row as [string, string[]];
    const [, runId = "", , time = "", , json = ""] = fields;
    yield { seq: Number(id.split("-")[0]), runId, time: Number(time), json };
  }
}

function spanOf(thread: string, json: string): RecordedSpan {
  const { runId, delegationId, first, last } = JSON.parse(json);
  return {
    thread,
    runId,
    first: String(first),
    ...(delegationId === undefined ? {} : { delegationId }),
    ...(last === undefined ? {} : { last: String(last) }),
  };
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
