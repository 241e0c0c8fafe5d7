import type { Clock } from "../core/clock.js";
import type { RunEvent } from "../core/run-event.js";
import type { SubagentEvent } from "../delegation/events.js";
import type { StartingDelegation } from "../delegation/trace-context.js";
import type { JournalEntry } from "../journal/journal.js";

/** Anything that a thread's journal holds. */
export type ObservedEvent = RunEvent | SubagentEvent;

/** One entry of a thread's journal. */
export type ObservedEntry = JournalEntry<ObservedEvent>;

/** A run, as telemetry tells it apart. */
export interface ObservedRun {
  /** The journal's key of its thread. */
  readonly thread: string;
  readonly runId: string;
}

/** A run that begins. */
export interface StartingRun extends ObservedRun {
  readonly agent: string;
  /** The trace that it was asked for in, if the caller told one. */
  readonly traceparent?: string;
}

/** A thread as its people know it. */
export interface ObservedThread {
  readonly threadId: string;
  /** Absent on a host without tenants. */
  readonly tenant?: string;
}

/** What a host gives to its telemetry. */
export interface TelemetryContext {
  readonly clock: Clock;
  /** @param thread the journal's key */
  readonly describeThread: (thread: string) => ObservedThread;
}

/**
 * Tells a host's operators what happens in it: a reader of the journal. Nothing that it does is waited for by a run, and what it
 * throws ends nothing.
 */
export interface Telemetry {
  /**
   * Called once, before anything else.
   * @throws when it cannot work at all; then the host does not start.
   */
  open(context: TelemetryContext): Promise<void> | void;
  /** The next entries of a thread, each once and in order; those of one run, and of its delegations, under its `runId`. */
  observe(entries: readonly ObservedEntry[]): void;
  /** A run begins; told before its first entry. */
  runStarting?(run: StartingRun): void;
  /** The journal did not take the beginning of a run: nothing will be read of it. */
  runDropped?(run: ObservedRun): void;
  /**
   * A delegation begins; told before its first entry.
   * @returns the `traceparent` that its remote gets, if there is a trace of this telemetry's.
   */
  delegationStarting?(run: ObservedRun, delegation: StartingDelegation): string | undefined;
  /** Nothing more comes. Resolves when what is left was handed on, or given up; bounded. */
  close(): Promise<void>;
}
