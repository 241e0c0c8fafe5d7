import type { ThreadEvent } from "../bridges/agui/event.js";
import type { Clock, Timer } from "../core/clock.js";
import { defined } from "../core/defined.js";
import type { RunErrorCode } from "../core/errors.js";
import type { CreateId } from "../core/ids.js";
import { isRunTerminal, type RunEvent } from "../core/run-event.js";
import { RunGrammar } from "../core/run-grammar.js";
import { reduce } from "../delegation/delegation.js";
import type { DelegationState } from "../delegation/delegation-state.js";
import type { DelegationErrorCode, SubagentEvent } from "../delegation/events.js";
import { RecordedContent } from "../delegation/recorded-content.js";
import type { AbandonedDelegation } from "../delegation/takeover.js";
import type { Journal, JournalEntry, RecordedSpan } from "../journal/journal.js";
import { principalOf } from "./authoriser.js";
import { foldDelegation, isSubagentEvent } from "./recorded-delegation.js";

/** What {@link closeAbandoned} works with. */
export interface RecoveryOptions {
  readonly journal: Journal<ThreadEvent>;
  readonly createId: CreateId;
  /** Goes on with delegations whose remotes can be asked; others end. */
  readonly heir?: Heir;
  /** Ends what programs of runs that are over are still there on this machine. */
  readonly endPrograms?: (runs: readonly { readonly thread: string; readonly runId: string }[]) => void;
  /** Gets what could not be closed, for the host's log. */
  readonly onError: (error: unknown) => void;
}

/** Who goes on with what was left. */
export interface Heir {
  canTakeOver(delegation: AbandonedDelegation): boolean;
  takeOver(delegation: AbandonedDelegation): void;
}

const HOST_STOPPED = "host_stopped" satisfies RunErrorCode & DelegationErrorCode;

/**
 * Takes care of what was open when the host that wrote it died. Each call and text, and then the run, get their end, once. A
 * delegation whose remote can still be asked goes on without its run; any other ends, since what its remote did is not known.
 * @param left what could not be closed before
 * @returns what could not be closed now: it belongs to this host and has to be tried again
 */
export async function closeAbandoned(
  options: RecoveryOptions,
  left: readonly RecordedSpan[] = [],
): Promise<readonly RecordedSpan[]> {
  const found = (await options.journal.adopt?.()) ?? [];
  // A journal may give again what could not be written.
  const known = new Set(found.map(spanKey));
  const spans = [...left.filter((span) => !known.has(spanKey(span))), ...found];
  const failed: RecordedSpan[] = [];
  for (const thread of new Set(spans.map((span) => span.thread))) {
    const open = spans.filter((span) => span.thread === thread);
    try {
      await closeThread(options, thread, open);
    } catch (error) {
      options.onError(error);
      // What another host has taken over in the meantime is its matter.
      if ((Object(error) as { code?: unknown }).code !== "taken_over") failed.push(...open);
    }
  }
  return failed;
}

/** A cursor is one entry's of its thread, and so one span's. */
function spanKey({ thread, first }: RecordedSpan): string {
  return `${first} ${thread}`;
}

/** Does {@link closeAbandoned} every `lookMs` milliseconds. @returns what ends that. */
export function watchAbandoned(
  options: RecoveryOptions,
  clock: Clock,
  lookMs: number,
  before: readonly RecordedSpan[],
): () => Promise<void> {
  let timer: Timer | undefined;
  let left = before;
  let closing: Promise<void> = Promise.resolve();
  const look = async () => {
    try {
      left = await closeAbandoned(options, left);
    } catch (error) {
      options.onError(error);
    }
    later();
  };
  const later = () => {
    timer = clock.timer(lookMs, () => {
      closing = look();
    });
  };
  if (options.journal.adopt !== undefined) later();
  return async () => {
    timer?.cancel();
    await closing;
    timer?.cancel();
  };
}

async function closeThread(
  { journal, createId, heir, endPrograms }: RecoveryOptions,
  thread: string,
  spans: readonly RecordedSpan[],
): Promise<void> {
  const open = await readOpen(journal, thread, spans);
  endPrograms?.([...open.runs.keys()].map((runId) => ({ thread, runId })));
  const events: { runId: string; event: ThreadEvent }[] = [];
  const inherited: AbandonedDelegation[] = [];
  let run = spans.findLast(
    ({ runId, delegationId }) => delegationId === undefined && open.runs.has(runId),
  )?.runId;
  for (const abandoned of open.delegations.values()) {
    const { runId, agentName } = abandoned.state.identity;
    const goesOn = heir?.canTakeOver(abandoned) ?? false;
    const left = goesOn ? reduce(abandoned.state, { type: "detach" }) : failed(abandoned.state);
    if (goesOn) inherited.push({ ...abandoned, state: left.state });
    if (run === undefined && left.events.length > 0) {
      // A stream of AG-UI has no place between runs, so what is left to tell needs one.
      run = createId("late");
      open.runs.set(run, new OpenRun(true));
      events.push({
        runId: run,
        event: { type: "run.started", agent: agentName, messages: [], continues: runId },
      });
    }
    for (const event of left.events) events.push({ runId, event });
  }
  for (const [runId, opened] of open.runs) for (const event of opened.close()) events.push({ runId, event });
  await Promise.all(events.map(({ runId, event }) => journal.append({ thread, runId, event })));
  for (const abandoned of inherited) heir?.takeOver(abandoned);
}

async function readOpen(journal: Journal<ThreadEvent>, thread: string, spans: readonly RecordedSpan[]) {
  const runs = new Map<string, OpenRun>();
  const delegations = new Map<string, AbandonedDelegation>();
  for (const { runId, delegationId } of spans) if (delegationId === undefined) runs.set(runId, new OpenRun());
  const ids = new Set(spans.map(({ delegationId }) => delegationId));
  const first = Math.min(...spans.map((span) => Number(span.first)));
  for await (const batch of journal.read(thread, { after: String(first - 1) })) {
    for (const { runId, event, time } of batch) {
      if (!isSubagentEvent(event)) runs.get(runId)?.observe(event);
      else if (ids.has(event.delegationId))
        delegations.set(
          event.delegationId,
          observed(delegations.get(event.delegationId), thread, event, time),
        );
    }
  }
  for (const [id, { state }] of delegations) if (state.phase === "over") delegations.delete(id);
  for (const [id, run] of runs) if (run.over) runs.delete(id);
  return { runs, delegations };
}

function observed(
  known: AbandonedDelegation | undefined,
  thread: string,
  event: SubagentEvent,
  time: number,
): AbandonedDelegation {
  const content = known?.content ?? new RecordedContent();
  content.observe(event);
  const { runId } = event;
  const { tenant } = principalOf(thread);
  const timeoutMs = event.type === "subagent.started" ? event.audit?.timeoutMs : undefined;
  const deadline = timeoutMs === undefined ? known?.deadline : time + timeoutMs;
  const run = { thread, runId, ...defined({ tenant }) };
  return { run, content, state: foldDelegation(known?.state, event), ...defined({ deadline }) };
}

/** What a delegation says when it fails for a reason of the host's. */
function failed(state: DelegationState) {
  return reduce(state, {
    type: "failed",
    code: HOST_STOPPED,
    message: "The host stopped while this was going on. What the remote agent did since is not known.",
    retryable: true,
    remoteStatus: state.status ?? "unknown",
  });
}

/** A run that has no end yet. */
class OpenRun {
  over = false;
  readonly #grammar = new RunGrammar();
  readonly #approvals = new Set<string>();

  /** @param late it only holds what delegations did after their own run. */
  constructor(private late = false) {}

  observe(event: JournalEntry<ThreadEvent>["event"]): void {
    if (event.type === "stream.gap" || isSubagentEvent(event)) return;
    if (event.type === "run.started") this.late = event.continues !== undefined;
    else if (isRunTerminal(event)) this.over = true;
    else if (event.type === "approval.requested") this.#approvals.add(event.approval.approvalId);
    else if (event.type === "approval.resolved") this.#approvals.delete(event.approvalId);
    else if (isDriverEvent(event)) this.#grammar.accept(event);
  }

  close(): RunEvent[] {
    const approvals = [...this.#approvals].map(
      (approvalId): RunEvent => ({ type: "approval.resolved", approvalId, decision: "deny", by: "run_end" }),
    );
    const end: RunEvent = this.late
      ? { type: "run.finished", text: "" }
      : {
          type: "run.failed",
          error: {
            code: HOST_STOPPED,
            message: "The host stopped while this run was going on.",
            retryable: true,
          },
        };
    return [...approvals, ...this.#grammar.close(), end];
  }
}

type DriverPart = Parameters<RunGrammar["accept"]>[0];

function isDriverEvent(event: RunEvent): event is DriverPart {
  return !event.type.startsWith("run.") && !event.type.startsWith("approval.");
}
