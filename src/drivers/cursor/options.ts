/** How Cursor's command line agent is started. */
export interface CursorOptions {
  /** The program, or the program and its first arguments. Default `agent`, looked up on the agent's `PATH`; older ones: `cursor-agent`. */
  readonly executable?: string | readonly [string, ...string[]];
  /** A model's name. Default: the account's own. */
  readonly model?: string;
  /** `plan` and `ask` change nothing. Default: the program's own mode, which works. */
  readonly mode?: "plan" | "ask";
  /** Runs commands and edits that it would otherwise leave out, since it cannot ask (`--force`). Default `false`. */
  readonly force?: boolean;
  /** Whether its commands run in its sandbox. Default: the program's own. */
  readonly sandbox?: "enabled" | "disabled";
  /** Passes `--trust`, without which a run without a terminal may refuse a workspace that it does not know. Default `true`. */
  readonly trustWorkspace?: boolean;
  /** Added to the program's environment; what the agent's `env` says goes before it. Its shell can read it. */
  readonly env?: Readonly<Record<string, string>>;
  /** More arguments for the program, as they are. */
  readonly extraArgs?: readonly string[];
  /** How long the program may take to exit after its result before it is terminated, in milliseconds. Default 5,000. */
  readonly graceMs?: number;
}
