import { type Clock, withinTime } from "../core/clock.js";
import { defined } from "../core/defined.js";
import { isRunTerminal } from "../core/run-event.js";
import type { DelegatingRun } from "../delegation/delegating-run.js";
import { isSubagentTerminal } from "../delegation/events.js";
import { parseTraceparent, type StartingDelegation } from "../delegation/trace-context.js";
import type { Journal, JournalEntry } from "../journal/journal.js";
import type { ObservedEntry, ObservedEvent, StartingRun, Telemetry, TelemetryContext } from "./telemetry.js";
import { ThreadReader } from "./thread-reader.js";

/** What {@link openHostTelemetry} works with. */
export interface HostTelemetryOptions extends TelemetryContext {
  readonly journal: Journal<ObservedEvent>;
  /** Gets what a telemetry threw, and why the journal could not be read, for the host's log. */
  readonly onError: (error: unknown) => void;
}

/** A run as the host starts it. */
type HostRun = Omit<StartingRun, "traceparent"> & {
  /** What its caller told; the trace is looked for there. */
  readonly metadata?: Readonly<Record<string, unknown>>;
};

/** How long the journal may take to give what is left when the host closes, in milliseconds. */
const CLOSE_MS = 5_000;
/** Telemetry has bounds of its own; this is for one that forgot. */
const LONGEST_CLOSE_MS = 60_000;

/**
 * All telemetry of one host. It follows the journal of each thread in which runs go on; who has none follows nothing.
 * @throws what a telemetry's `open` throws; those that were open by then are closed.
 */
export async function openHostTelemetry(
  telemetries: readonly Telemetry[],
  options: HostTelemetryOptions,
): Promise<HostTelemetry | undefined> {
  if (telemetries.length === 0) return undefined;
  const open: Telemetry[] = [];
  try {
    for (const telemetry of telemetries) {
      await telemetry.open(options);
      open.push(telemetry);
    }
  } catch (error) {
    await Promise.allSettled(open.map((telemetry) => telemetry.close()));
    throw error;
  }
  return new HostTelemetry(telemetries, options);
}

/** See {@link openHostTelemetry}. */
export class HostTelemetry {
  readonly #readers = new Map<string, ThreadReader>();
  /** Telemetry that has thrown once; the same fault in each of a thousand entries would fill the log. */
  readonly #faulty = new Set<Telemetry>();
  readonly #clock: Clock;
  #unreadable = false;
  #closing: Promise<void> | undefined;

  constructor(
    private readonly telemetries: readonly Telemetry[],
    private readonly options: HostTelemetryOptions,
  ) {
    this.#clock = options.clock;
  }

  /** A run begins. Call it before its first event is recorded. */
  readonly runStarting = ({ metadata, ...run }: HostRun): void => {
    const traceparent = parseTraceparent(metadata?.traceparent);
    this.#each((telemetry) => telemetry.runStarting?.({ ...run, ...defined({ traceparent }) }));
  };

  /** An event of a run or a delegation is being recorded. Call it in the moment of the append. */
  recorded(
    { thread, runId }: DelegatingRun,
    event: ObservedEvent,
    appended: Promise<JournalEntry<ObservedEvent>>,
  ): void {
    if (this.#closing !== undefined) return;
    if (event.type === "run.started") this.#startRun(thread, runId, appended);
    else if (isRunTerminal(event) || isSubagentTerminal(event))
      appended.catch(() => this.#readers.get(thread)?.missed(runId, event));
  }

  /** A delegation begins. @returns the `traceparent` that its remote gets, if somebody traces it. */
  readonly delegationStarting = (run: DelegatingRun, delegation: StartingDelegation): string | undefined => {
    this.#readers.get(run.thread)?.delegationStarting(run.runId, delegation.delegationId);
    let traceparent: string | undefined;
    this.#each((telemetry) => {
      const told = telemetry.delegationStarting?.(run, delegation);
      traceparent ??= told;
    });
    return traceparent;
  };

  /** Hands on what is recorded by now, then closes all telemetry. Call it when nothing runs any more, before the journal closes. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const reading = Promise.all([...this.#readers.values()].map((reader) => reader.stop()));
    await withinTime(this.#clock, CLOSE_MS, reading);
    const closing = this.telemetries.map(async (telemetry) => telemetry.close().catch(this.options.onError));
    await withinTime(this.#clock, LONGEST_CLOSE_MS, Promise.all(closing));
  }

  #startRun(thread: string, runId: string, appended: Promise<JournalEntry<ObservedEvent>>): void {
    const reader = this.#readers.get(thread) ?? this.#startReader(thread, appended);
    reader.runStarting(runId);
    appended.catch(() => {
      reader.forget(runId);
      this.#each((telemetry) => telemetry.runDropped?.({ thread, runId }));
    });
  }

  #startReader(thread: string, first: Promise<ObservedEntry>): ThreadReader {
    const reader: ThreadReader = new ThreadReader(
      {
        journal: this.options.journal,
        thread,
        clock: this.#clock,
        take: (entries) => this.#take(entries),
        failed: (error) => this.#unread(error),
        ended: () => {
          if (this.#readers.get(thread) === reader) this.#readers.delete(thread);
        },
      },
      first,
    );
    this.#readers.set(thread, reader);
    return reader;
  }

  #take(entries: readonly ObservedEntry[]): void {
    this.#each((telemetry) => telemetry.observe(entries));
    this.#unreadable = false;
  }

  /** Told once, until it works again. */
  #unread(error: unknown): void {
    if (!this.#unreadable) this.options.onError(error);
    this.#unreadable = true;
  }

  #each(tell: (telemetry: Telemetry) => void): void {
    for (const telemetry of this.telemetries) {
      try {
        tell(telemetry);
      } catch (error) {
        if (!this.#faulty.has(telemetry)) this.options.onError(error);
        this.#faulty.add(telemetry);
      }
    }
  }
}
