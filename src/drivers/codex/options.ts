/** How Codex is started. */
export interface CodexOptions {
  /** The program, or the program and its first arguments. Default `codex`, looked up on the agent's `PATH`. */
  readonly executable?: string | readonly [string, ...string[]];
  /** A model's name, such as `gpt-5.5`. Default: the program's own. */
  readonly model?: string;
  /** What its shell and its edits may touch. Default `read-only`. */
  readonly sandbox?: "read-only" | "workspace-write" | "danger-full-access";
  /**
   * When it asks: `on-request` (default) when the model wants more than the sandbox gives, `untrusted` before every command that
   * is not known to be harmless, `never`. What it asks is decided by the agent's `permissions`.
   */
  readonly approvalPolicy?: "on-request" | "untrusted" | "never";
  /** How hard the model thinks, such as `low` or `high`. Default: the program's own. */
  readonly reasoningEffort?: string;
  /** Text added to the instructions that the model gets from the developer. */
  readonly developerInstructions?: string;
  /**
   * More of the program's configuration, by the keys of its `config.toml`. It goes to the program with the start of the thread, so
   * it may hold credentials.
   */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Added to the program's environment; what the agent's `env` says goes before it. Its shell can read it. */
  readonly env?: Readonly<Record<string, string>>;
  /** More arguments for the program, as they are. */
  readonly extraArgs?: readonly string[];
  /** How long each step of the start may take, in milliseconds. Default 60,000. */
  readonly startTimeoutMs?: number;
  /** How long the program may take to exit after its last answer before it is terminated, in milliseconds. Default 5,000. */
  readonly graceMs?: number;
}
