import { isRunTerminal } from "../core/run-event.js";
import type { Recordable, RecordedSpan, SpanQuery } from "./journal.js";

/** What an event means for the index of runs and delegations. */
export type SpanMark =
  | { readonly at: "start" | "end"; readonly delegationId: string | undefined }
  | undefined;

/**
 * Whether `event` begins or ends a run or a delegation. Besides these few names the journal knows nothing of what it records.
 */
export function spanMark(event: Recordable): SpanMark {
  if (event.type === "run.started") return { at: "start", delegationId: undefined };
  if (isRunTerminal(event)) return { at: "end", delegationId: undefined };
  if (!event.type.startsWith("subagent.")) return undefined;
  const delegationId = delegationOf(event);
  if (delegationId === undefined) return undefined;
  if (event.type === "subagent.started") return { at: "start", delegationId };
  return /^subagent\.(?:finished|failed|cancelled)$/.test(event.type)
    ? { at: "end", delegationId }
    : undefined;
}

/** The delegation that an event belongs to. */
export function delegationOf(event: Recordable): string | undefined {
  return "delegationId" in event && typeof event.delegationId === "string" ? event.delegationId : undefined;
}

/** Whether a span is among those that a query asks for. */
export function matches(span: RecordedSpan, query: SpanQuery): boolean {
  if ("delegationId" in query) return span.delegationId === query.delegationId;
  if (span.delegationId !== undefined) return false;
  if ("runId" in query && span.runId !== query.runId) return false;
  return query.thread === undefined || span.thread === query.thread;
}

interface Span {
  readonly runId: string;
  readonly delegationId: string | undefined;
  readonly first: number;
  last: number | undefined;
}

/** The runs and delegations of one thread. */
export class SpanList {
  #spans: Span[] = [];

  record(cursor: number, runId: string, event: Recordable): void {
    const mark = spanMark(event);
    if (mark === undefined) return;
    const { at, delegationId } = mark;
    if (at === "start") {
      this.#spans.push({ runId, delegationId, first: cursor, last: undefined });
      return;
    }
    const open = this.#spans.findLast(
      (span) => span.last === undefined && span.runId === runId && span.delegationId === delegationId,
    );
    if (open !== undefined) open.last = cursor;
  }

  /** Forgets what began at or before a cursor. */
  trim(through: number): void {
    this.#spans = this.#spans.filter(({ first }) => first > through);
  }

  list(thread: string): RecordedSpan[] {
    return this.#spans.map(({ runId, delegationId, first, last }) => ({
      thread,
      runId,
      first: String(first),
      ...(delegationId === undefined ? {} : { delegationId }),
      ...(last === undefined ? {} : { last: String(last) }),
    }));
  }
}
