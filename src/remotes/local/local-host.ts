import type { Run } from "../../core/run.js";
import type { RunEvent } from "../../core/run-event.js";
import type { SubagentEvent } from "../../delegation/events.js";
import type { RemoteAgent, RemoteCaller } from "../../delegation/remote.js";

/** A run that a local remote wants. */
export interface LocalRunRequest {
  /** The agent's key at the host. */
  readonly agent: string;
  readonly prompt: string;
  /** For whom: the run that delegates, and whose it is. */
  readonly caller?: RemoteCaller;
  readonly runId: string;
  readonly threadId: string;
  readonly messageId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A run of an agent of this host, as a delegation sees it. */
export interface LocalRun {
  readonly run: Pick<Run, "cancel" | "decide">;
  /** The run's own events and those of its delegations, from its start to its terminal event, or until `signal` aborts. */
  events(signal: AbortSignal): AsyncIterable<RunEvent | SubagentEvent>;
}

/** What a host does for agents of its own that are called as sub-agents. */
export interface LocalHost {
  /**
   * What the host knows of an agent.
   * @throws TroupeError `agent_not_found`
   */
  describe(agent: string): { readonly name: string; readonly driver: string };
  /**
   * Starts a run like any other of the host: with its services, in its journal, under its routes.
   * @throws TroupeError `agent_not_found`, `thread_busy`, `host_closed`
   */
  start(request: LocalRunRequest): LocalRun;
}

/** A remote that is an agent of the host which it is given to. */
export type LocalRemote = (host: LocalHost) => RemoteAgent;
