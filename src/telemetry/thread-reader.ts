import { type Clock, sleep } from "../core/clock.js";
import { isRunTerminal } from "../core/run-event.js";
import { isSubagentTerminal } from "../delegation/events.js";
import type { Cursor, Journal } from "../journal/journal.js";
import type { ObservedEntry, ObservedEvent } from "./telemetry.js";

/** What a {@link ThreadReader} works with. */
export interface ThreadReaderOptions {
  readonly journal: Journal<ObservedEvent>;
  readonly thread: string;
  readonly clock: Clock;
  readonly take: (entries: readonly ObservedEntry[]) => void;
  /** The journal could not be read; it is tried again. */
  readonly failed: (error: unknown) => void;
  /** Nothing is left to be read; called in the same moment in which that is known. */
  readonly ended: () => void;
}

interface ReadRun {
  seen: boolean;
  over: boolean;
  readonly delegations: Set<string>;
}

/** Milliseconds between two attempts at a journal that cannot be read; doubled each time, up to the longest. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Reads one thread as long as runs of this host go on in it, their delegations included. A thread may hold runs of other replicas,
 * which tell of them themselves, and runs that only hold what was left of earlier ones: neither is passed on.
 */
export class ThreadReader {
  readonly #runs = new Map<string, ReadRun>();
  readonly #stop = new AbortController();
  #after: Cursor | undefined;
  #ended = false;
  /** Resolves when nothing is read any more. */
  readonly done: Promise<void>;

  /** @param first resolves with the first entry that matters */
  constructor(
    private readonly options: ThreadReaderOptions,
    first: Promise<ObservedEntry>,
  ) {
    this.done = this.#read(first);
  }

  runStarting(runId: string): void {
    if (!this.#runs.has(runId)) this.#runs.set(runId, { seen: false, over: false, delegations: new Set() });
  }

  delegationStarting(runId: string, delegationId: string): void {
    this.#runs.get(runId)?.delegations.add(delegationId);
  }

  /** The journal did not take the beginning of a run. */
  forget(runId: string): void {
    this.#runs.delete(runId);
    this.#endIfIdle();
  }

  /** The journal did not take the end of a run or a delegation: nobody will ever read it there. */
  missed(runId: string, event: ObservedEvent): void {
    const { thread, clock } = this.options;
    this.#take([{ cursor: this.#after ?? "0", thread, runId, time: clock.now(), event }]);
    this.#endIfIdle();
  }

  /** Reads what is recorded by now, and ends. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.done;
  }

  async #read(first: Promise<ObservedEntry>): Promise<void> {
    const { signal } = this.#stop;
    try {
      this.#after = String(Number((await first).cursor) - 1);
    } catch {
      // Whoever recorded it has forgotten the run; another one may have begun meanwhile and is read from its own start.
    }
    for (let pause = FIRST_PAUSE_MS; !this.#ended && !signal.aborted; ) {
      try {
        if (await this.#follow(true)) return;
        // The journal was closed.
        if (!signal.aborted) return this.#end();
      } catch (error) {
        this.options.failed(error);
        await sleep(this.options.clock, pause, signal);
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      }
    }
    if (this.#ended) return;
    await this.#follow(false).catch(this.options.failed);
    this.#end();
  }

  /** @returns whether nothing is left to be read. */
  async #follow(follow: boolean): Promise<boolean> {
    const { journal, thread } = this.options;
    const after = this.#after === undefined ? {} : { after: this.#after };
    const signal = follow ? { signal: this.#stop.signal } : {};
    for await (const batch of journal.read(thread, { ...after, follow, ...signal })) {
      this.#after = batch.at(-1)?.cursor ?? this.#after;
      this.#take(batch);
      if (this.#endIfIdle()) return true;
    }
    return false;
  }

  #take(batch: readonly ObservedEntry[]): void {
    const own = batch.filter(({ runId, event }) => event.type === "stream.gap" || this.#runs.has(runId));
    if (own.length > 0) this.options.take(own);
    for (const { runId, event } of own) this.#follows(runId, event);
  }

  #follows(runId: string, event: ObservedEntry["event"]): void {
    if (event.type === "stream.gap") {
      // Only runs that are over are trimmed, so what was open before has ended, unseen.
      for (const [id, { seen }] of this.#runs) if (seen) this.#runs.delete(id);
      return;
    }
    const run = this.#runs.get(runId);
    if (run === undefined) return;
    run.seen = true;
    if ("delegationId" in event) {
      if (isSubagentTerminal(event)) run.delegations.delete(event.delegationId);
      else run.delegations.add(event.delegationId);
    } else if (isRunTerminal(event)) run.over = true;
    if (run.over && run.delegations.size === 0) this.#runs.delete(runId);
  }

  #endIfIdle(): boolean {
    if (this.#runs.size === 0) this.#end();
    return this.#ended;
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stop.abort();
    this.options.ended();
  }
}
