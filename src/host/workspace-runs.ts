import type { ThreadEvent } from "../bridges/agui/event.js";
import { DelegationToolset } from "../bridges/mcp/delegation-toolset.js";
import type { ServeGuest } from "../bridges/mcp/guest-sessions.js";
import type { McpToolset } from "../bridges/mcp/tool.js";
import type { ToolCatalog } from "../bridges/mcp/tool-catalog.js";
import type { Clock } from "../core/clock.js";
import { TroupeError } from "../core/errors.js";
import type { CreateId } from "../core/ids.js";
import type { DelegatingRun } from "../delegation/delegating-run.js";
import type { Delegator } from "../delegation/delegator.js";
import type { DelegationResult } from "../delegation/result.js";
import type { Journal } from "../journal/journal.js";
import { threadKey } from "./authoriser.js";
import { recordedDelegation } from "./recorded-delegation.js";
import { hasConsole } from "./routes/console.js";
import type { Runs } from "./runs.js";
import { EXTERNAL_AGENT, type ExternalRun, WorkspaceSession } from "./workspace-session.js";
import { SessionToolset, type WorkspaceView } from "./workspace-toolset.js";

/** Where the console shows a thread. @param base where it is served; `undefined` when nowhere. */
export function consoleUrl(base: string | undefined, threadId: string): string | undefined {
  return base === undefined || !hasConsole() ? undefined : `${base}/#thread=${encodeURIComponent(threadId)}`;
}

/** What {@link WorkspaceRuns} works with. */
export interface WorkspaceRunsOptions {
  readonly runs: () => Runs;
  readonly delegator: Delegator;
  readonly journal: Journal<ThreadEvent>;
  /** The tools that external parents get. */
  readonly catalog: ToolCatalog;
  readonly clock: Clock;
  readonly createId: CreateId;
  /** Where a person sees a thread in a browser; `undefined` when nowhere. */
  readonly watchUrl: (threadId: string) => string | undefined;
}

/** Runs that are over, and whose tools are kept because somebody asked. */
const MAX_OTHERS = 100;

/**
 * The runs of parents that this host does not drive. They all belong to one workspace: a client that is started again finds what
 * an earlier one has begun.
 */
export class WorkspaceRuns {
  readonly #runs = new Map<string, ExternalRun>();
  /** With what ends each. */
  readonly #sessions = new Map<WorkspaceSession, AbortController>();
  /** What ends each session that is open, and when it is over. */
  readonly #open = new Map<AbortController, Promise<void>>();
  #closed = false;
  /** Tools for the delegations of runs that are over, by run. */
  readonly #others = new Map<string, McpToolset>();

  constructor(private readonly options: WorkspaceRunsOptions) {}

  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /** The tools of a run that begins. */
  opened(runId: string, toolset: McpToolset): void {
    const run = this.#runs.get(runId);
    if (run !== undefined) run.toolset = toolset;
  }

  /**
   * Opens a session for a client, which `serve` looks after. What it has begun goes on for `graceMs` after the client is gone,
   * longer while another client of the workspace asks for it, and then ends by policy.
   * @returns when the client is gone and its run over.
   * @throws TroupeError `host_closed`.
   */
  open(serve: ServeGuest, graceMs: number): Promise<void> {
    if (this.#closed)
      return Promise.reject(new TroupeError("host_closed", "The host is closing.", { retryable: true }));
    const end = new AbortController();
    const open = this.#serve(serve, graceMs, end);
    this.#open.set(end, open);
    const forget = () => this.#open.delete(end);
    open.then(forget, forget);
    return open;
  }

  /** Lets nobody in any more. Who is there has to leave as soon as nothing that it began goes on. */
  drain(): void {
    this.#closed = true;
    for (const [session, end] of this.#sessions) void session.idle().then(() => end.abort());
  }

  /** Lets nobody in any more; who is there gets what is still answered. @returns when all are gone. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const end of this.#open.keys()) end.abort();
    await Promise.allSettled(this.#open.values());
  }

  async #serve(serve: ServeGuest, graceMs: number, end: AbortController): Promise<void> {
    const { runs, delegator, catalog, clock, createId, watchUrl } = this.options;
    const threadId = createId("thread");
    const workspace: WorkspaceView = {
      elsewhere: (id) => this.#elsewhere(session, id),
      inherited: (id) => this.#inherited(session, id),
      recorded: (id) => this.#recorded(id),
      watchUrl: () => watchUrl(threadId),
    };
    const session = new WorkspaceSession({
      runs: runs(),
      delegator,
      clock,
      createId,
      thread: threadKey({}, threadId),
      workspace,
      graceMs,
      isHeld: (runId) => [...this.#sessions.keys()].some(({ holds }) => holds.has(runId)),
      began: (run) => this.#runs.set(run.runId, run),
      over: ({ runId }) => this.#runs.delete(runId),
    });
    this.#sessions.set(session, end);
    const toolset = new SessionToolset({
      tools: () => catalog.tools(),
      // What throws at once is as good as a rejection.
      enter: async () => session.enter(),
      entered: () => session.entered(),
      workspace,
    });
    try {
      await serve(toolset, end.signal);
    } finally {
      this.#sessions.delete(session);
      for (const runId of session.holds) this.#runs.get(runId)?.look?.();
      await session.leave();
    }
  }

  /** The tools that know a delegation which another external run of this workspace has begun. */
  #elsewhere(session: WorkspaceSession, delegationId: string): McpToolset | undefined {
    const { delegator } = this.options;
    const run = delegator.get(delegationId)?.run;
    if (run === undefined || run.runId === session.runId() || !this.#isExternal(run)) return undefined;
    const going = this.#runs.get(run.runId);
    if (going?.toolset !== undefined) {
      session.holds.add(run.runId);
      going.look?.();
      return going.toolset;
    }
    return this.#toolsetOf(run);
  }

  /** As {@link #elsewhere}, for a delegation whose run only the journal knows. */
  async #inherited(session: WorkspaceSession, delegationId: string): Promise<McpToolset | undefined> {
    const { delegator, runs } = this.options;
    const run = delegator.get(delegationId)?.run;
    if (run === undefined || run.runId === session.runId()) return undefined;
    const record = await runs().recall(run.thread, run.runId);
    return record?.agent === EXTERNAL_AGENT ? this.#toolsetOf(run) : undefined;
  }

  /** The answer of a delegation that an earlier process of this workspace ended. */
  async #recorded(delegationId: string): Promise<DelegationResult | undefined> {
    const { delegator, journal, runs } = this.options;
    if (delegator.get(delegationId) !== undefined) return undefined;
    const known = await recordedDelegation(journal, delegationId, (thread) => thread.startsWith("/"));
    if (known === undefined) return undefined;
    const record = await runs().recall(known.run.thread, known.run.runId);
    return record?.agent === EXTERNAL_AGENT ? known.state.answer : undefined;
  }

  #isExternal({ thread, runId }: DelegatingRun): boolean {
    return this.options.runs().find(thread, runId)?.agent === EXTERNAL_AGENT;
  }

  #toolsetOf(run: DelegatingRun): McpToolset {
    const { delegator, catalog, clock } = this.options;
    const known = this.#others.get(run.runId);
    if (known !== undefined) return known;
    const toolset = new DelegationToolset(delegator.openRun(run), catalog, { clock, elicitation: true });
    this.#others.set(run.runId, toolset);
    const [oldest] = this.#others.keys();
    if (this.#others.size > MAX_OTHERS && oldest !== undefined) this.#others.delete(oldest);
    return toolset;
  }
}
