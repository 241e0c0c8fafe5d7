import type { ApprovalDecision } from "../../core/approval.js";
import type { RunEvent, UserMessage } from "../../core/run-event.js";
import type { SubagentEvent } from "../../delegation/events.js";
import type { Cursor, JournalEntry } from "../../journal/journal.js";

/** Anything that a thread's journal holds. */
export type FaceEvent = RunEvent | SubagentEvent;

/** One entry of a thread's journal. */
export type FaceEntry = JournalEntry<FaceEvent>;

/** Who calls. Tasks of one caller do not exist for another. */
export interface FaceCaller {
  readonly tenant?: string;
}

/** A run as the face needs it. */
export interface FaceRun {
  /** Absent when it is over. */
  readonly run?: object | undefined;
  /** The cursor of its first entry, once recorded. */
  readonly first: Promise<Cursor>;
  /** Aborts when the journal did not take its terminal event. */
  readonly unrecorded?: AbortSignal;
}

/** What the face asks of its host. */
export interface FaceRuns {
  /** @throws TroupeError `thread_busy`, `host_closed`, `agent_not_found` or `invalid_input`. */
  start(options: {
    readonly agent: string;
    readonly thread: string;
    readonly runId: string;
    readonly messages: readonly UserMessage[];
    /** What the caller sent along: lineage and correlation. */
    readonly metadata?: Readonly<Record<string, unknown>>;
    readonly disconnectGraceMs?: number;
  }): FaceRun;
  find(thread: string, runId: string): FaceRun | undefined;
  /** Stops a run, wherever it is. */
  cancel(run: { readonly thread: string; readonly runId: string }, reason: string): Promise<void>;
  /** @returns whether a run of the caller, wherever it is, waited for this decision. */
  decide(caller: FaceCaller, approvalId: string, decision: ApprovalDecision): Promise<boolean>;
  /** A reader of the thread's run has come. @returns what to call when it leaves. */
  reading(thread: string): () => void;
}
