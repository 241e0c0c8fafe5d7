import type { ThreadEvent } from "../bridges/agui/event.js";
import type { Clock, Timer } from "../core/clock.js";
import type { RunErrorCode } from "../core/errors.js";
import type { CreateId } from "../core/ids.js";
import { isRunTerminal, type RunEvent } from "../core/run-event.js";
import { RunGrammar } from "../core/run-grammar.js";
import { reduce } from "../delegation/delegation.js";
import type { DelegationState } from "../delegation/delegation-state.js";
import type { DelegationErrorCode } from "../delegation/events.js";
import type { Journal, JournalEntry, RecordedSpan } from "../journal/journal.js";
import { foldDelegation, isSubagentEvent } from "./recorded-delegation.js";

/** What {@link closeAbandoned} works with. */
export interface RecoveryOptions {
  readonly journal: Journal<ThreadEvent>;
  readonly createId: CreateId;
  /** Gets what could not be closed, for the host's log. */
  readonly onError: (error: unknown) => void;
}

const HOST_STOPPED = "host_stopped" satisfies RunErrorCode & DelegationErrorCode;

/**
 * Ends what was open when the host that wrote it died: each delegation, each call and text, and then the run get their end, once.
 * What the remotes did since is not known, and that is what is told.
 */
export async function closeAbandoned(options: RecoveryOptions): Promise<void> {
  const spans = (await options.journal.adopt?.()) ?? [];
  for (const thread of new Set(spans.map((span) => span.thread))) {
    try {
      await closeThread(
        options,
        thread,
        spans.filter((span) => span.thread === thread),
      );
    } catch (error) {
      options.onError(error);
    }
  }
}

/** How often a host looks for what others left open, in milliseconds. */
const LOOK_MS = 15_000;

/** Does {@link closeAbandoned} now and then. @returns what ends that. */
export function watchAbandoned(options: RecoveryOptions, clock: Clock): () => Promise<void> {
  let timer: Timer | undefined;
  let closing: Promise<void> = Promise.resolve();
  const later = () => {
    timer = clock.timer(LOOK_MS, () => {
      closing = closeAbandoned(options).catch(options.onError).then(later);
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
  { journal, createId }: RecoveryOptions,
  thread: string,
  spans: readonly RecordedSpan[],
): Promise<void> {
  const open = await readOpen(journal, thread, spans);
  const events: { runId: string; event: ThreadEvent }[] = [];
  let run = spans.findLast(
    ({ runId, delegationId }) => delegationId === undefined && open.runs.has(runId),
  )?.runId;
  for (const state of open.delegations.values()) {
    const { runId, agentName } = state.identity;
    if (run === undefined) {
      // A stream of AG-UI has no place between runs, so what is left to tell needs one.
      run = createId("late");
      open.runs.set(run, new OpenRun(true));
      events.push({
        runId: run,
        event: { type: "run.started", agent: agentName, messages: [], continues: runId },
      });
    }
    for (const event of failed(state)) events.push({ runId, event });
  }
  for (const [runId, opened] of open.runs) for (const event of opened.close()) events.push({ runId, event });
  await Promise.all(events.map(({ runId, event }) => journal.append({ thread, runId, event })));
}

async function readOpen(journal: Journal<ThreadEvent>, thread: string, spans: readonly RecordedSpan[]) {
  const runs = new Map<string, OpenRun>();
  const delegations = new Map<string, DelegationState>();
  for (const { runId, delegationId } of spans) if (delegationId === undefined) runs.set(runId, new OpenRun());
  const ids = new Set(spans.map(({ delegationId }) => delegationId));
  const first = Math.min(...spans.map((span) => Number(span.first)));
  for await (const batch of journal.read(thread, { after: String(first - 1) })) {
    for (const { runId, event } of batch) {
      if (!isSubagentEvent(event)) runs.get(runId)?.observe(event);
      else if (ids.has(event.delegationId))
        delegations.set(event.delegationId, foldDelegation(delegations.get(event.delegationId), event));
    }
  }
  for (const [id, { phase }] of delegations) if (phase === "over") delegations.delete(id);
  for (const [id, run] of runs) if (run.over) runs.delete(id);
  return { runs, delegations };
}

/** What a delegation says when it fails for a reason of the host's. */
function failed(state: DelegationState) {
  return reduce(state, {
    type: "failed",
    code: HOST_STOPPED,
    message: "The host stopped while this was going on. What the remote agent did since is not known.",
    retryable: true,
    remoteStatus: state.status ?? "unknown",
  }).events;
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
