import type { Timer } from "../core/clock.js";
import { sleep } from "../core/clock.js";
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
import { JournalError, toJournalError } from "./journal-error.js";
import { delegationOf, spanMark } from "./span-list.js";
import { LOCK_RETRY_MS, openSqliteFile, type SqliteFile, type SqliteFileOptions } from "./sqlite-file.js";
import { SqliteLoss } from "./sqlite-loss.js";
import { SqliteOwner } from "./sqlite-owner.js";
import { SqliteReader } from "./sqlite-reader.js";
import { SqliteRetention } from "./sqlite-retention.js";
import { adoptSpans, openSpans } from "./sqlite-takeover.js";
import { type PendingEntry, SqliteWriter } from "./sqlite-writer.js";
import { untilBurstIsOver, WaitingReaders } from "./waiting-readers.js";

/** How a journal keeps, and gives, what was recorded. */
export interface SqliteJournalLimits {
  /** Entries kept of one thread; whole ended runs beyond it are dropped, oldest first. Default 1,000,000. */
  readonly maxEntriesPerThread?: number;
  /** How long a run is kept after its end, in milliseconds. Default 30 days. */
  readonly retentionMs?: number;
  /** Entries that a reader takes at once. Default 512. */
  readonly batch?: number;
  /** A reader further behind than this many entries gets deltas merged. Default 1,024. */
  readonly mergeBeyond?: number;
  /** How often waiting readers look whether another process has written, in milliseconds. Default 50. */
  readonly pollMs?: number;
  /** Gets the ids of delegations that are no longer kept. */
  readonly onDropped?: (delegationIds: readonly string[]) => void;
}

/** Options of {@link createSqliteJournal}. */
export interface SqliteJournalOptions extends SqliteFileOptions, SqliteJournalLimits {}

/**
 * A {@link Journal} in a SQLite file, which several processes may write and read at once. Needs the package `better-sqlite3`.
 * @throws JournalError which says what to do.
 */
export async function createSqliteJournal<Event extends Recordable>(
  options: SqliteJournalOptions,
): Promise<Journal<Event>> {
  return new SqliteJournal<Event>(await openSqliteFile(options), options);
}

interface Waiting<Event extends Recordable> extends PendingEntry {
  readonly event: Event;
  resolve(entry: JournalEntry<Event>): void;
  reject(error: JournalError): void;
}

/** Entries that are committed at once at most. */
const COMMIT = 2_000;
const RETENTION_MS = 30 * 24 * 3_600_000;
const MAINTENANCE_MS = 3_600_000;

/** A journal on an open file, which it closes. */
export class SqliteJournal<Event extends Recordable> implements Journal<Event> {
  readonly #waiting = new WaitingReaders();
  readonly #loss: SqliteLoss;
  readonly #owner: SqliteOwner;
  readonly #reader: SqliteReader<Event>;
  readonly #retention: SqliteRetention;
  readonly #writer: SqliteWriter;
  #pending: Waiting<Event>[] = [];
  #scheduled = false;
  /** Attempts to write since another process has locked the file. */
  #attempts = 0;
  #timers: { retry?: Timer; poll?: Timer; maintenance?: Timer } = {};
  /** Of the file, when other processes' entries were last looked for. */
  #version: unknown;
  #readers = 0;
  #sweeping = false;
  #closed = false;

  constructor(
    private readonly file: SqliteFile,
    private readonly limits: SqliteJournalLimits,
  ) {
    const { database, Sqlite, path } = file;
    const { batch = 512, mergeBeyond = 1_024, maxEntriesPerThread = 1_000_000 } = limits;
    this.#owner = new SqliteOwner(Sqlite, path, createId("host"));
    this.#loss = new SqliteLoss(() => openSpans(database, this.#owner.id));
    this.#reader = new SqliteReader<Event>(file, { batch, mergeBeyond });
    this.#retention = new SqliteRetention(database, maxEntriesPerThread);
    this.#writer = new SqliteWriter(database, this.#owner.id, this.#retention);
    if (!file.readOnly) this.#maintain();
  }

  append({ thread, runId, event }: NewEntry<Event>): Promise<JournalEntry<Event>> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new JournalError("journal_closed", `The journal ${this.file.path} is closed.`);
      // The file's texts are UTF-8, where half a character would become another id.
      if (wellFormed(thread) !== thread || wellFormed(runId) !== runId)
        throw new JournalError("journal_failed", "The id of a thread or a run is no valid text.");
      const { type } = event;
      const json = JSON.stringify(event);
      const time = this.file.clock.now();
      const mark = spanMark(event);
      const delegationId = delegationOf(event);
      this.#pending.push({ thread, runId, event, time, type, delegationId, json, mark, resolve, reject });
      if (this.#scheduled || this.#timers.retry !== undefined) return;
      this.#scheduled = true;
      // What comes in the same turn of the event loop is committed together.
      setImmediate(() => {
        this.#scheduled = false;
        this.#flush();
      });
    });
  }

  async *read(thread: string, options: ReadOptions = {}): AsyncGenerator<readonly JournalEntry<Event>[]> {
    const { follow = false, signal } = options;
    let after = Number(options.after ?? 0);
    this.#flush();
    this.#readers++;
    try {
      while (signal?.aborted !== true) {
        const position = after;
        const entries = this.file.read(() => this.#reader.take(thread, position));
        const last = entries.at(-1);
        if (last !== undefined) {
          after = Number(last.cursor);
          yield entries;
        } else if (!follow || this.#closed) return;
        else {
          const more = this.#waiting.wait(thread, signal);
          this.#poll();
          await more;
          await untilBurstIsOver();
        }
      }
    } finally {
      this.#readers--;
      if (this.#closed && this.#readers === 0) this.file.close();
    }
  }

  async head(thread: string): Promise<string | undefined> {
    this.#flush();
    return this.file.read(() => this.#reader.head(thread));
  }

  async find(query: SpanQuery): Promise<readonly RecordedSpan[]> {
    this.#flush();
    return this.file.read(() => this.#reader.find(query));
  }

  async adopt(): Promise<readonly RecordedSpan[]> {
    this.#flush();
    const adopted = await this.file.write(() => adoptSpans(this.file.database, this.#owner));
    return this.#loss.any ? [...this.file.read(() => this.#loss.takeAbandoned()), ...adopted] : adopted;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#flush();
    while (this.#pending.length > 0) {
      await sleep(this.file.clock, LOCK_RETRY_MS);
      this.#flush();
    }
    for (const timer of Object.values(this.#timers)) timer?.cancel();
    this.#owner.release();
    this.#waiting.wakeAll();
    // A reader that never comes back must not hold this up. The last one to leave closes the file.
    for (let turn = 0; turn < 4 && this.#readers > 0; turn++) await untilBurstIsOver();
    if (this.#readers === 0) this.file.close();
  }

  /** Commits what waits, so that who reads now sees it. */
  #flush(): void {
    this.#timers.retry?.cancel();
    delete this.#timers.retry;
    do this.#refuseLost();
    while (this.#pending.length > 0 && this.#commit(this.#pending.slice(0, COMMIT)));
  }

  /** What waits must not stand behind a hole. */
  #refuseLost(): void {
    if (!this.#loss.any) return;
    this.#pending = this.#pending.filter((entry) => {
      const refusal = this.#refusal(entry);
      if (refusal === undefined) return true;
      this.#refuse(entry, refusal);
      return false;
    });
  }

  #refusal(entry: Waiting<Event>): JournalError | undefined {
    try {
      return this.#loss.refusal(entry);
    } catch (error) {
      return toJournalError(error, this.file.path);
    }
  }

  #refuse(entry: Waiting<Event>, refusal: JournalError): void {
    this.#loss.refused(entry, refusal);
    entry.reject(refusal);
  }

  /** @returns `false` when another process holds the file; the batch stays where it is. */
  #commit(batch: readonly Waiting<Event>[]): boolean {
    try {
      if (batch.some(({ mark }) => mark?.at === "start")) this.#owner.hold();
      const { cursors, dropped } = this.file.writeNow(() => this.#writer.write(batch));
      this.#attempts = 0;
      this.#pending.splice(0, batch.length);
      this.#tell(batch, cursors);
      this.#dropped(dropped);
    } catch (error) {
      const failure = toJournalError(error, this.file.path);
      if (failure.code === "journal_locked" && !this.file.isTooLong(++this.#attempts)) {
        this.#timers.retry = this.file.clock.timer(LOCK_RETRY_MS, () => this.#flush());
        return false;
      }
      this.#attempts = 0;
      this.#pending.splice(0, batch.length);
      for (const entry of batch) this.#refuse(entry, failure);
    }
    return true;
  }

  #tell(batch: readonly Waiting<Event>[], cursors: readonly number[]): void {
    const threads = new Set<string>();
    batch.forEach(({ thread, runId, time, event, resolve }, index) => {
      threads.add(thread);
      resolve({ cursor: String(cursors[index]), thread, runId, time, event });
    });
    for (const thread of threads) {
      this.#loss.recorded(thread);
      this.#waiting.wake(thread);
    }
  }

  /** Other processes cannot wake a reader, so while one waits the file is looked at. */
  #poll(): void {
    if (this.#timers.poll !== undefined || this.#closed) return;
    this.#timers.poll = this.file.clock.timer(this.limits.pollMs ?? 50, () => {
      delete this.#timers.poll;
      if (this.#closed || this.#waiting.size === 0) return;
      const version = this.#fileVersion();
      if (version !== undefined && version === this.#version) return this.#poll();
      this.#version = version;
      this.#waiting.wakeAll();
    });
  }

  #fileVersion(): unknown {
    try {
      return this.file.database.pragma("data_version", { simple: true });
    } catch {
      // The readers will say what is wrong when they look.
      return undefined;
    }
  }

  #dropped(delegationIds: readonly string[]): void {
    if (delegationIds.length > 0) this.limits.onDropped?.(delegationIds);
    this.#sweep();
  }

  /** Lets go of what is too old, now and every hour. */
  #maintain(): void {
    const before = this.file.clock.now() - (this.limits.retentionMs ?? RETENTION_MS);
    this.#timers.maintenance = this.file.clock.timer(MAINTENANCE_MS, () => this.#maintain());
    try {
      this.#dropped(this.file.writeNow(() => this.#retention.expire(before)));
    } catch {
      // A file that is locked or full at this moment can wait for the next hour.
    }
  }

  /** Deletes a piece at a time what was dropped. */
  #sweep(): void {
    if (this.#sweeping || this.#closed) return;
    this.#sweeping = true;
    setImmediate(() => {
      this.#sweeping = false;
      if (this.#closed) return;
      try {
        if (this.file.writeNow(() => this.#retention.sweep())) this.#sweep();
      } catch {
        // The next end of a run goes on with it.
      }
    });
  }
}
