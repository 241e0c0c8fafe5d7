import type { ThreadEvent } from "../bridges/agui/event.js";
import type { CreateId } from "../core/ids.js";
import { isRunTerminal } from "../core/run-event.js";
import type { DelegatingRun } from "../delegation/delegating-run.js";
import { isSubagentTerminal, type SubagentEvent } from "../delegation/events.js";
import type { Journal, JournalEntry } from "../journal/journal.js";

/** What a {@link LateWork} works with. */
export interface LateWorkOptions {
  readonly journal: Journal<ThreadEvent>;
  readonly createId: CreateId;
  /** Lets all delegations that go on without their run close what they have open in the thread's stream. */
  readonly detachAll: (thread: string) => void;
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
    return this.options.journal.append({ thread, runId, event });
  }

  /** Appends an event of a delegation. */
  recordDelegation({ thread, runId }: DelegatingRun, event: SubagentEvent): Promise<unknown> {
    if (!this.#open.has(thread)) this.#startLate(thread, runId, event.agentName);
    const appended = this.options.journal.append({ thread, runId, event });
    if (isSubagentTerminal(event)) this.#endLate(thread);
    return appended;
  }

  #startLate(thread: string, continues: string, agent: string): void {
    const late = this.options.createId("late");
    this.#open.set(thread, { late });
    this.#append(thread, late, { type: "run.started", agent, messages: [], continues });
  }

  #endLate(thread: string): void {
    const late = this.#open.get(thread)?.late;
    if (late === undefined) return;
    this.options.detachAll(thread);
    this.#open.delete(thread);
    this.#append(thread, late, { type: "run.finished", text: "" });
  }

  /** Whoever records the delegation's own event next is told of a journal that fails. */
  #append(thread: string, runId: string, event: ThreadEvent): void {
    this.options.journal.append({ thread, runId, event }).catch(() => undefined);
  }
}
