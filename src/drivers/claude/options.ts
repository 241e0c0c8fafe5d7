/** How Claude Code is started. */
export interface ClaudeOptions {
  /** The program, or the program and its first arguments. Default `claude`, looked up on the agent's `PATH`. */
  readonly executable?: string | readonly [string, ...string[]];
  /** A model's name or alias, such as `sonnet`. Default: the program's own. */
  readonly model?: string;
  /** Text added to the end of the program's system prompt. */
  readonly appendSystemPrompt?: string;
  /** Rules of tools that run without asking, such as `Read` or `Bash(git diff:*)`. */
  readonly allowedTools?: readonly string[];
  /** Rules of tools that are refused. */
  readonly disallowedTools?: readonly string[];
  /**
   * Settings files that count. Default none: the settings, hooks, custom agents and CLAUDE.md of the user and the project are left
   * out, because hooks run without being asked.
   */
  readonly settingSources?: readonly ("user" | "project" | "local")[];
  /** How many answers of the model the run may take. */
  readonly maxTurns?: number;
  /** How often a failed request to the model is repeated. Default: the program's own (10, up to three minutes). */
  readonly maxRetries?: number;
  /** More arguments for the program, as they are. */
  readonly extraArgs?: readonly string[];
  /** How long the program may take to start, in milliseconds. Default 60,000. */
  readonly startTimeoutMs?: number;
  /** How long the program may take to exit after its last answer before it is terminated, in milliseconds. Default 5,000. */
  readonly graceMs?: number;
}
