/** One thing that the scripted program does. Texts and inputs may hold placeholders, see `fillPlaceholders`. */
export type CursorStep =
  | { readonly think: string }
  | {
      readonly say: string;
      /** Said only after tool results of this kind: `error` when any of the last ones was one. */
      readonly when?: "ok" | "error";
      /** Milliseconds between two words. Default `TROUPE_PACE_MS`, else none. */
      readonly delayMs?: number;
    }
  /** Calls of MCP tools, at once. */
  | { readonly tools: readonly { readonly name: string; readonly input?: unknown; readonly id?: string }[] }
  /** A command; nothing is run. Without `--force` one with `ask` is rejected. */
  | {
      readonly shell: {
        readonly command: string;
        readonly id?: string;
        readonly output?: string;
        readonly exitCode?: number;
        readonly ask?: boolean;
      };
    }
  /** A line as it is. */
  | { readonly event: Readonly<Record<string, unknown>> }
  /** The run fails: words on standard error, exit code 1, and no last event. */
  | { readonly fail: string }
  | { readonly exit: number }
  | { readonly die: NodeJS.Signals }
  /** Nothing more happens; only a signal ends it. */
  | { readonly hang: true }
  /** A line on standard output that is no JSON. */
  | { readonly garbage: string }
  | { readonly stderr: string };

/** What the scripted program does with its prompt. */
export interface CursorScript {
  readonly steps: readonly CursorStep[];
  /** How it starts. `unknown_option`: like a version that does not know partial output. */
  readonly start?: "unknown_option" | "logged_out";
  /** Conversations cannot be found. */
  readonly forgetful?: boolean;
  /** It starts no MCP servers. */
  readonly ignoresServers?: boolean;
  /** It does not expand variables in its configuration, but gives its servers its own environment. */
  readonly leavesVariables?: boolean;
  /** What it does not react to. */
  readonly deaf?: readonly ("sigint" | "sigterm")[];
}

/** It delegates the prompt and repeats the summary. */
export const DEFAULT_CURSOR_SCRIPT: CursorScript = {
  steps: [
    { say: "I'll ask the research agent." },
    { tools: [{ name: "delegate_to_agent", input: { agent: "research", objective: "{{prompt}}" } }] },
    { say: "The research agent answered: {{result.0.summary}}", when: "ok" },
    { say: "The research agent could not finish: {{result.0.error.message}}", when: "error" },
  ],
};

/** Reads a script: `json`, else {@link DEFAULT_CURSOR_SCRIPT}. */
export function parseCursorScript(json: string | undefined): CursorScript {
  if (json === undefined || json === "") return DEFAULT_CURSOR_SCRIPT;
  const script: unknown = JSON.parse(json);
  if (typeof script === "object" && script !== null && "steps" in script && Array.isArray(script.steps)) {
    return script as CursorScript;
  }
  throw new Error("A script is an object with a list of steps.");
}
