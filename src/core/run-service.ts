import type { McpServer } from "./mcp-server.js";
import type { RunEvent } from "./run-event.js";

/** What a service may know of the run it is attached to. */
export interface RunContext {
  readonly runId: string;
  /** Bearer secret of this run, 256 bits. It ends with the run: keep only a hash of it. */
  readonly token: string;
  readonly agent: string;
  /** The host's key of the conversation, if the run belongs to one. */
  readonly thread?: string;
  readonly workspace: string;
  /** What the one who started the run gave along. It may come from outside. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** How a run's own part ended, before its terminal event is emitted. */
export type RunOutcome = "finished" | "failed" | "cancelled";

/** What a service gives to one run. */
export interface RunAttachment {
  /** Added to the agent's MCP servers for this run. */
  readonly mcpServers?: readonly McpServer[];
  /** Added to the environment of the agent's process. Never put a secret here: its tools can read it. */
  readonly env?: Readonly<Record<string, string>>;
  /** Sees every event of the run at the moment it is emitted. Must not throw. */
  observe?(event: RunEvent): void;
  /** The run is being cancelled; called at once, before the process is gone. */
  cancel?(reason: string): void;
  /** The agent's process is over. Awaited before the run's terminal event is emitted, so it must be bounded. */
  detach(outcome: RunOutcome): Promise<void>;
}

/** Equips runs with something from outside. Delegation reaches a run only through this. */
export interface RunService {
  readonly name: string;
  /** Called before the driver starts. A rejection fails the run. */
  attach(run: RunContext): Promise<RunAttachment>;
}
