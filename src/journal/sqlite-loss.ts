import type { RecordedSpan } from "./journal.js";
import { JournalError } from "./journal-error.js";
import type { PendingEntry } from "./sqlite-writer.js";

/** What of a thread is not on record. */
interface Loss {
  readonly cause: JournalError;
  /** Runs and delegations whose start was refused, until their end was. */
  readonly unbegun: Set<string>;
  /** Those whose end was refused: nobody writes to them any more. */
  readonly ended: Set<string>;
  /** Whoever ends what is abandoned may write. If that is refused too, it is abandoned as before. */
  givenAway: boolean;
}

/**
 * The threads in which an entry was refused although it had its place. What follows in the runs that were open there is refused as
 * well, since a record with a hole in it is none; each of them is abandoned when its end was refused, and can be taken over then.
 */
export class SqliteLoss {
  readonly #threads = new Map<string, Loss>();

  /** @param open what this process holds open, as the file has it. */
  constructor(private readonly open: () => readonly RecordedSpan[]) {}

  get any(): boolean {
    return this.#threads.size > 0;
  }

  /** Says that an entry was refused. */
  refused({ thread, runId, mark }: PendingEntry, cause: JournalError): void {
    const loss = this.#threads.get(thread) ?? {
      cause,
      unbegun: new Set(),
      ended: new Set(),
      givenAway: false,
    };
    this.#threads.set(thread, loss);
    loss.givenAway = false;
    if (mark === undefined) return;
    const key = keyOf(runId, mark.delegationId);
    if (mark.at === "start") loss.unbegun.add(key);
    else if (!loss.unbegun.delete(key)) loss.ended.add(key);
  }

  /** Says that an entry was taken. */
  recorded(thread: string): void {
    if (this.#threads.get(thread)?.givenAway) this.#threads.delete(thread);
  }

  /** @returns why an entry cannot be taken, if so. */
  refusal({ thread, mark }: PendingEntry): JournalError | undefined {
    const loss = this.#threads.get(thread);
    if (loss === undefined || loss.givenAway) return undefined;
    if (loss.unbegun.size === 0 && !this.open().some((span) => span.thread === thread)) {
      this.#threads.delete(thread);
      return undefined;
    }
    const { cause } = loss;
    return mark?.at === "start" && mark.delegationId === undefined
      ? new JournalError(cause.code, cause.message, { retryable: true, cause })
      : new JournalError("taken_over", `Nothing more of this run is recorded. ${cause.message}`, { cause });
  }

  /** What was open in threads where nobody writes any more. They take entries again, so that it can be ended. */
  takeAbandoned(): RecordedSpan[] {
    const open = this.open();
    return [...this.#threads].flatMap(([thread, loss]) => {
      const { unbegun, ended } = loss;
      const spans = open.filter((span) => span.thread === thread);
      const isOver = spans.every(({ runId, delegationId }) => ended.has(keyOf(runId, delegationId)));
      if (unbegun.size > 0 || !isOver) return [];
      if (spans.length === 0) this.#threads.delete(thread);
      loss.givenAway = true;
      return spans;
    });
  }
}

function keyOf(runId: string, delegationId: string | undefined): string {
  // The id of a delegation is its own in all runs.
  return delegationId === undefined ? `run ${runId}` : `delegation ${delegationId}`;
}
