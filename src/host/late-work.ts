import type { ThreadEvent } from "../bridges/agui/event.js";
import type { CreateId } from "../core/ids.js";
import { isRunTerminal } from "../core/run-event.js";
import type { DelegatingRun } from "../delegation/delegating-run.js";
import { isSubagentTerminal, type SubagentEvent } from "../delegation/events.js";
import type { Journal, JournalEntry, NewEntry } from "../journal/journal.js";

/** What a {@link LateWork} works with. */
export interface LateWorkOptions {
  readonly journal: Journal<ThreadEvent>;
  readonly createId: CreateId;
  /** Lets all delegations that go on without their run close what they have open in the thread's stream. */
  readonly detachAll: (thread: string) => void;
  /** Another host took this one for dead and has taken over a run, and what it delegated. */
  readonly onTakenOver?: (run: { readonly thread: string; readonly runId: string }) => void;
  /** Lets other hosts end the runs of a thread that only hold late work. */
  readonly makeWay?: (thread: string) => Promise<boolean>;
}

/**
 * Everything of a thread goes through here into the journal, so that what delegations do after the end of their run stands within
 * a run too: a stream of AG-UI has no place between runs. Such a run is opened for the purpose, `continues` the delegation's own,
 * and makes way as soon as a person's next run begins.
 */
export class LateWork {
  /** Threads that are within a run, and the run's id if it was opened here. */
  readonly #open = new Map<string, { readonly late?: string }>();

  constructor(private readonly options: LateWorkOptions) {}

  /** Appends an event of a run itself. */
  recordRun(thread: string, runId: string, event: ThreadEvent): Promise<JournalEntry<ThreadEvent>> {
    if (event.type === "run.started") {
      this.#endLate(thread);
      this.#open.set(thread, {});
    } else if (isRunTerminal(event)) {
      this.options.detachAll(thread);
      this.#open.delete(thread);
    }
    const appended = this.#appendOwn(thread, runId, event);
    return event.type === "run.started"
      ? this.#orAfterLateWork(appended, { thread, runId, event })
      : appended;
  }

  /** Ends the run of late work that is open in a thread. @returns whether there was one. */
  makeWay(thread: string): boolean {
    const late = this.#open.get(thread)?.late !== undefined;
    this.#endLate(thread);
    return late;
  }

  /** Appends an event of a delegation. */
  recordDelegation(
    { thread, runId }: DelegatingRun,
    event: SubagentEvent,
  ): Promise<JournalEntry<ThreadEvent>> {
    if (!this.#open.has(thread)) this.#startLate(thread, runId, event.agentName);
    const appended = this.#appendOwn(thread, runId, event);
    if (isSubagentTerminal(event)) this.#endLate(thread);
    return appended;
  }

  #appendOwn(thread: string, runId: string, event: ThreadEvent): Promise<JournalEntry<ThreadEvent>> {
    const appended = this.options.journal.append({ thread, runId, event });
    appended.catch((error: unknown) => {
      if (isCode(error, "taken_over")) this.options.onTakenOver?.({ thread, runId });
    });
    return appended;
  }

  /** A run that another host holds open for late work makes way, as one of this host does. */
  async #orAfterLateWork(
    appended: Promise<JournalEntry<ThreadEvent>>,
    entry: NewEntry<ThreadEvent>,
  ): Promise<JournalEntry<ThreadEvent>> {
    try {
      return await appended;
    } catch (error) {
      if (!isCode(error, "thread_busy") || !(await this.options.makeWay?.(entry.thread))) throw error;
      return this.options.journal.append(entry);
    }
  }

  #startLate(thread: string, continues: string, agent: string): void {
    const late = this.options.createId("late");
    this.#open.set(thread, { late });
    const event = { type: "run.started", agent, messages: [], continues } as const;
    // Whoever records the delegation's own event next is told of a journal that fails.
    this.options.journal.append({ thread, runId: late, event }).catch((error: unknown) => {
      // A run of another host goes on there, and holds what comes as well as one of our own.
      if (isCode(error, "thread_busy") && this.#open.get(thread)?.late === late) this.#open.delete(thread);
    });
  }

  #endLate(thread: string): void {
    const late = this.#open.get(thread)?.late;
    if (late === undefined) return;
    this.options.detachAll(thread);
    this.#open.delete(thread);
    const event = { type: "run.finished", text: "" } as const;
    this.options.journal.append({ thread, runId: late, event }).catch(() => undefined);
  }
}

function isCode(error: unknown, code: string): boolean {
  return (Object(error) as { code?: unknown }).code === code;
}
