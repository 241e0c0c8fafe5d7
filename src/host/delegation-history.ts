import type { ThreadEvent } from "../bridges/agui/event.js";
import { type DelegationAudit, isSubagentTerminal } from "../delegation/events.js";
import type { Cursor, Journal } from "../journal/journal.js";

/** One thing that happened in a delegation, for whoever looks later. */
export interface HistoryItem {
  readonly cursor: Cursor;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly type: string;
  /** The remote's own word for its state. */
  readonly status?: string;
  readonly message?: string;
  /** With the start, when the agent's card is not what it was. */
  readonly cardChangedFrom?: string;
  /** Who asked, and what was sent; with the start. */
  readonly audit?: DelegationAudit;
}

/**
 * What happened in a delegation, from the journal: every state, question, file and end with its time. Text is left out; it is in
 * the thread's events.
 * @param first where its run begins in the journal.
 */
export async function delegationHistory(
  journal: Journal<ThreadEvent>,
  thread: string,
  first: Cursor,
  delegationId: string,
): Promise<HistoryItem[]> {
  const history: HistoryItem[] = [];
  for await (const batch of journal.read(thread, { after: String(Number(first) - 1) })) {
    for (const { cursor, time, event } of batch) {
      if (!("delegationId" in event) || event.delegationId !== delegationId || "delta" in event) continue;
      const status = "status" in event ? { status: event.status } : {};
      const message = "message" in event && event.message !== undefined ? { message: event.message } : {};
      const audit = "audit" in event && event.audit !== undefined ? { audit: event.audit } : {};
      const changed =
        "cardChangedFrom" in event && event.cardChangedFrom !== undefined
          ? { cardChangedFrom: event.cardChangedFrom }
          : {};
      history.push({ cursor, time, type: event.type, ...status, ...message, ...audit, ...changed });
      if (isSubagentTerminal(event)) return history;
    }
  }
  return history;
}
