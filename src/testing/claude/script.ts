/** A tool call of the scripted model. */
export interface ScriptedTool {
  /** A bare name (`delegate_to_agent`, whichever server offers it), `mcp__server__tool`, or a built-in tool. */
  readonly name: string;
  readonly input?: unknown;
  /** Made up when absent. */
  readonly id?: string;
  /** Makes it a built-in tool that answers this. */
  readonly result?: string;
  readonly isError?: boolean;
  /** A built-in tool that asks for permission first. MCP tools ask unless the command line allows them. */
  readonly ask?: boolean;
}

/** One thing that the scripted program does. Texts and inputs may hold placeholders, see `fillPlaceholders`. */
export type ScriptStep =
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
  | { readonly tools: readonly ScriptedTool[] }
  /** A built-in tool that asks first; `result` is what it answers when it may. */
  | { readonly permission: { readonly tool: string; readonly input?: unknown; readonly result?: string } }
  /** A native subagent, with its own frames below the call. */
  | { readonly native: { readonly description: string; readonly says: string; readonly tool?: ScriptedTool } }
  /** Failed requests that are repeated. */
  | { readonly retry: { readonly times?: number; readonly status?: number; readonly error?: string } }
  /** The request failed for good: ends the turn. */
  | { readonly error: { readonly status: number | null; readonly code: string; readonly message?: string } }
  /** The turn ends at the limit of turns. */
  | { readonly maxTurns: number }
  | { readonly exit: number }
  | { readonly die: NodeJS.Signals }
  /** Nothing more happens; only an interrupt or a signal ends it. */
  | { readonly hang: true }
  /** A line on standard output that is no JSON. */
  | { readonly garbage: string }
  | { readonly stderr: string }
  /** Frames as they are. */
  | { readonly frames: readonly unknown[] };

/** What the scripted program does with one prompt after the other. The last turn is used again when there are more prompts. */
export interface Script {
  readonly turns: readonly (readonly ScriptStep[])[];
  /** How it starts. `unknown_option`: like a version that does not know `--await-initialize`. */
  readonly start?: "silent" | "unknown_option" | "ignores_servers";
  /** Sessions cannot be found. */
  readonly forgetful?: boolean;
  /** What it does not react to. */
  readonly deaf?: readonly ("interrupt" | "eof" | "sigterm")[];
}

/** What the demo's parent does: it delegates the prompt and repeats the summary. */
export const DEFAULT_SCRIPT: Script = {
  turns: [
    [
      { say: "I'll ask the research agent." },
      { tools: [{ name: "delegate_to_agent", input: { agent: "research", objective: "{{prompt}}" } }] },
      { say: "The research agent answered: {{result.0.summary}}", when: "ok" },
      { say: "The research agent could not finish: {{result.0.error.message}}", when: "error" },
    ],
  ],
};

/** Reads the script that the environment names: `TROUPE_SCRIPT_JSON`, else {@link DEFAULT_SCRIPT}. */
export function parseScript(json: string | undefined): Script {
  if (json === undefined || json === "") return DEFAULT_SCRIPT;
  const script: unknown = JSON.parse(json);
  if (typeof script === "object" && script !== null && "turns" in script && Array.isArray(script.turns)) {
    return script as Script;
  }
  throw new Error("A script is an object with a list of turns.");
}
