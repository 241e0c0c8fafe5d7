/** A call of an MCP tool by the scripted model. */
export interface CodexTool {
  /** The tool's own name, whichever server offers it. */
  readonly name: string;
  readonly input?: unknown;
  /** Made up when absent. */
  readonly id?: string;
}

/** A command of the scripted model; nothing is run. */
export interface CodexCommand {
  readonly command: string;
  readonly id?: string;
  readonly output?: string;
  readonly exitCode?: number;
  /** Asks for permission first. */
  readonly ask?: boolean;
  /** It goes on in the background, and only the end of terminals ends it. */
  readonly background?: boolean;
}

/** One thing that the scripted program does. Texts and inputs may hold placeholders, see `fillPlaceholders`. */
export type CodexStep =
  | { readonly think: string }
  | {
      readonly say: string;
      /** Said only after tool results of this kind: `error` when any of the last ones was one. */
      readonly when?: "ok" | "error";
      /** Exact pieces; default one a word. */
      readonly chunks?: readonly string[];
      /** Milliseconds between two pieces. Default `TROUPE_PACE_MS`, else none. */
      readonly delayMs?: number;
    }
  /** `late`: the turn goes on before they have ended, as in code mode. */
  | { readonly tools: readonly CodexTool[]; readonly late?: boolean }
  | { readonly shell: CodexCommand }
  | {
      readonly patch: {
        readonly path: string;
        readonly diff: string;
        readonly id?: string;
        readonly ask?: boolean;
      };
    }
  | { readonly search: string }
  | { readonly plan: readonly { readonly step: string; readonly status: string }[] }
  /** Failed requests that are repeated. */
  | { readonly retry: { readonly times?: number; readonly status?: number } }
  /** The request failed for good: ends the turn. */
  | { readonly error: { readonly message: string; readonly info?: unknown } }
  /** A request to whoever drives it; its answer becomes a result. */
  | { readonly request: { readonly method: string; readonly params: Readonly<Record<string, unknown>> } }
  /** A request that is taken back at once. */
  | { readonly withdraw: { readonly method: string; readonly params: Readonly<Record<string, unknown>> } }
  /** A notification as it is; `{{thread}}` and `{{turn}}` stand for the ids. */
  | { readonly notify: { readonly method: string; readonly params: Readonly<Record<string, unknown>> } }
  | { readonly exit: number }
  | { readonly die: NodeJS.Signals }
  /** Nothing more happens; only an interrupt or a signal ends it. */
  | { readonly hang: true }
  /** A line on standard output that is no JSON. */
  | { readonly garbage: string }
  | { readonly stderr: string };

/** What the scripted program does with one prompt after the other. The last turn is used again when there are more prompts. */
export interface CodexScript {
  readonly turns: readonly (readonly CodexStep[])[];
  /** How it starts. `unknown_command`: like a version without an app-server. */
  readonly start?: "silent" | "unknown_command" | "logged_out";
  /** The version that it tells. */
  readonly version?: string;
  /** Threads cannot be found. */
  readonly forgetful?: boolean;
  /** Milliseconds between the answer to `turn/start` and `turn/started`: until then an interrupt is refused. */
  readonly slowTurnMs?: number;
  /** What it does not react to. */
  readonly deaf?: readonly ("interrupt" | "eof" | "sigterm")[];
}

/** It delegates the prompt and repeats the summary. */
export const DEFAULT_CODEX_SCRIPT: CodexScript = {
  turns: [
    [
      { say: "I'll ask the research agent." },
      { tools: [{ name: "delegate_to_agent", input: { agent: "research", objective: "{{prompt}}" } }] },
      { say: "The research agent answered: {{result.0.summary}}", when: "ok" },
      { say: "The research agent could not finish: {{result.0.error.message}}", when: "error" },
    ],
  ],
};

/** Reads a script: `json`, else {@link DEFAULT_CODEX_SCRIPT}. */
export function parseCodexScript(json: string | undefined): CodexScript {
  if (json === undefined || json === "") return DEFAULT_CODEX_SCRIPT;
  const script: unknown = JSON.parse(json);
  if (typeof script === "object" && script !== null && "turns" in script && Array.isArray(script.turns)) {
    return script as CodexScript;
  }
  throw new Error("A script is an object with a list of turns.");
}
