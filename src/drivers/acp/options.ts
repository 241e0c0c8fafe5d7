/** How an agent that speaks the Agent Client Protocol is started. */
export interface AcpOptions {
  /** The program; looked up on the agent's `PATH`. */
  readonly command: string;
  /** Its arguments, as they are. Everyone on the machine can read them. */
  readonly args?: readonly string[];
  /** What the driver is called, in `troupe agents` and in checkpoints of threads: letters, digits, `-` and `_`. Default `acp`. */
  readonly name?: string;
  /** What people call the program, for messages. Default: its `command`. */
  readonly title?: string;
  /** How to get the program, for the message when it is missing. */
  readonly install?: string;
  /** Added to the program's environment; what the agent's `env` says goes before it. Its shell can read it. */
  readonly env?: Readonly<Record<string, string>>;
  /** Names of variables of the host's environment that the program needs beyond the usual ones; `*` at the end matches any rest. */
  readonly environment?: readonly string[];
  /** The id of a login that the agent offers. Default: none is asked for, the program uses the login it has. */
  readonly authMethod?: string;
  /** The id of a mode that the agent offers, such as `plan`. Default: the agent's own. */
  readonly mode?: string;
  /** The id of a model that the agent offers. Default: the agent's own. */
  readonly model?: string;
  /** Whether it can go on with an old session. Default `true`; the agent itself may still say no, and the run then fails. */
  readonly resume?: boolean;
  /**
   * How MCP servers over HTTP reach it: `auto` (default) as they are where the agent says that it can, else by a bridge; `bridge`
   * always by a bridge, which is a small program of Troupe's that the agent starts.
   */
  readonly mcp?: "auto" | "bridge";
  /**
   * Fails the run when the agent has not spoken to a trusted MCP server within this time after the session began, in milliseconds.
   * For agents that drop servers silently. It makes `mcp` a `bridge`. Default: not looked at.
   */
  readonly mcpContactMs?: number;
  /** How long each step of the start may take, in milliseconds. Default 60,000. */
  readonly startTimeoutMs?: number;
  /** How long the program may take to exit after its last answer before it is terminated, in milliseconds. Default 5,000. */
  readonly graceMs?: number;
}
