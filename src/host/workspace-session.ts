import { ObservedToolset } from "../bridges/mcp/observed-toolset.js";
import type { McpToolset } from "../bridges/mcp/tool.js";
import type { Clock, Timer } from "../core/clock.js";
import { TroupeError } from "../core/errors.js";
import type { CreateId } from "../core/ids.js";
import type { ActiveDelegation } from "../delegation/active-delegation.js";
import type { Delegator } from "../delegation/delegator.js";
import { externalParent } from "./external-parent.js";
import type { Runs } from "./runs.js";
import { WorkspaceToolset, type WorkspaceView } from "./workspace-toolset.js";

/** What an external run is called as an agent. */
export const EXTERNAL_AGENT = "mcp-client";

/** What {@link WorkspaceSession} works with. */
export interface WorkspaceSessionOptions {
  readonly runs: Runs;
  readonly delegator: Delegator;
  readonly clock: Clock;
  readonly createId: CreateId;
  /** The journal's key of the session's thread. */
  readonly thread: string;
  readonly workspace: WorkspaceView;
  /** How long what was begun goes on without the client, in milliseconds. */
  readonly graceMs: number;
  /** Whether somebody else asks for what a run has begun. */
  readonly isHeld: (runId: string) => boolean;
  readonly began: (run: ExternalRun) => void;
  readonly over: (run: ExternalRun) => void;
}

/** The run of a session. */
export interface ExternalRun {
  readonly runId: string;
  readonly thread: string;
  /** The delegations' own tools. */
  toolset?: McpToolset;
  /** While it waits for somebody to come back: looks again whether anybody has. */
  look?: () => void;
}

interface Entered {
  readonly run: ExternalRun;
  readonly ready: Promise<McpToolset>;
  toolset?: McpToolset;
}

/** One MCP client: it has one run at a time, in a thread of its own. */
export class WorkspaceSession {
  /** Runs of others whose delegations this client asks for. */
  readonly holds = new Set<string>();
  #entered: Entered | undefined;
  #leave: () => void = () => undefined;
  readonly #left = new Promise<void>((resolve) => {
    this.#leave = resolve;
  });
  #isGone = false;
  #over: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: WorkspaceSessionOptions) {}

  /** The tools of the run that goes on. */
  entered(): McpToolset | undefined {
    return this.#entered?.toolset;
  }

  runId(): string | undefined {
    return this.#entered?.run.runId;
  }

  /**
   * The tools of the session's run, which begins now if none goes on.
   * @throws TroupeError `host_closed`, `cancelled`.
   */
  enter(): Promise<McpToolset> {
    this.#entered ??= this.#begin();
    return this.#entered.ready;
  }

  /** Resolves when what its run has begun by now is over. */
  async idle(): Promise<void> {
    const going = this.#entered === undefined ? [] : this.#going(this.#entered.run);
    await Promise.all(going.map(({ over }) => over));
  }

  /** The client is gone. @returns when its run is over. */
  async leave(): Promise<void> {
    this.#isGone = true;
    this.#leave();
    await this.#over;
  }

  #begin(): Entered {
    const { runs, clock, createId, thread, began, over } = this.options;
    if (this.#isGone) throw new TroupeError("cancelled", "The client is gone.");
    const run: ExternalRun = { runId: createId("run"), thread };
    let ready: (toolset: McpToolset) => void = () => undefined;
    let refuse: (error: unknown) => void = () => undefined;
    const entered: Entered = {
      run,
      ready: new Promise((resolve, reject) => {
        ready = resolve;
        refuse = reject;
      }),
    };
    entered.ready.catch(() => undefined);
    began(run);
    const parent = externalParent({
      clock,
      createId,
      began: async (emit, signal) => {
        if (run.toolset === undefined) return;
        const toolset = new WorkspaceToolset(run.toolset, this.options.workspace);
        entered.toolset = new ObservedToolset(toolset, emit, createId);
        ready(entered.toolset);
        const aborted = new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => resolve(), { once: true }),
        );
        await Promise.race([this.#left, aborted]);
        if (!signal.aborted) await this.#linger(run, aborted);
      },
    });
    const ended = () => {
      // A run that a person stopped is over; the client's next call begins another.
      if (this.#entered === entered) this.#entered = undefined;
      over(run);
      refuse(new TroupeError("cancelled", "The run is over."));
    };
    try {
      const messages = [{ id: createId("msg"), text: "An MCP client is connected." }];
      const { runId } = run;
      const started = runs.start({ agent: EXTERNAL_AGENT, parent, thread, runId, messages });
      this.#over = Promise.resolve(started.run?.result).then(ended, ended);
    } catch (error) {
      refuse(error);
      over(run);
    }
    return entered;
  }

  /** Waits until nobody comes back for what the run has begun, or it is over. */
  async #linger(run: ExternalRun, aborted: Promise<void>): Promise<void> {
    const { clock, graceMs, isHeld } = this.options;
    const going = this.#going(run);
    if (going.length === 0 || graceMs === 0) return;
    let timer: Timer | undefined;
    const alone = new Promise<void>((resolve) => {
      run.look = () => {
        timer?.cancel();
        timer = isHeld(run.runId) ? undefined : clock.timer(graceMs, resolve);
      };
    });
    run.look?.();
    await Promise.race([aborted, alone, Promise.all(going.map(({ over }) => over))]);
    timer?.cancel();
    delete run.look;
  }

  #going(run: ExternalRun): ActiveDelegation[] {
    const { delegator } = this.options;
    return delegator
      .list(run)
      .flatMap(({ identity, phase }) =>
        phase === "over" ? [] : (delegator.active(identity.delegationId) ?? []),
      );
  }
}
