/** A call of an MCP tool by the scripted model. */
export interface AcpTool {
  /** The tool's own name, whichever server offers it. */
  readonly name: string;
  readonly input?: unknown;
  /** Made up when absent. */
  readonly id?: string;
}

/** One thing that the scripted agent does. Texts and inputs may hold placeholders, see `fillPlaceholders`. */
export type AcpStep =
  | { readonly think: string }
  | {
      readonly say: string;
      /** Said only after tool results of this kind: `error` when any of the last ones was one. */
      readonly when?: "ok" | "error";
      /** Exact pieces; default one a word. */
      readonly chunks?: readonly string[];
      /** Milliseconds between two pieces. Default `TROUPE_PACE_MS`, else none. */
      readonly delayMs?: number;
      /** The id of the message, for agents that tell one. */
      readonly messageId?: string;
    }
  /** Calls at once. */
  | { readonly tools: readonly AcpTool[] }
  /** A command; nothing is run. */
  | {
      readonly shell: {
        readonly command: string;
        readonly id?: string;
        readonly output?: string;
        readonly exitCode?: number;
        /** Asks for permission first. */
        readonly ask?: boolean;
      };
    }
  /** A change of a file; nothing is written. */
  | {
      readonly edit: {
        readonly path: string;
        readonly oldText?: string;
        readonly newText: string;
        readonly id?: string;
        readonly ask?: boolean;
      };
    }
  | { readonly plan: readonly { readonly content: string; readonly status: string }[] }
  /** An update as it is. */
  | { readonly update: Readonly<Record<string, unknown>> }
  /** A request to whoever drives it; its answer, or its refusal, becomes a result. */
  | { readonly request: { readonly method: string; readonly params: Readonly<Record<string, unknown>> } }
  /** The prompt is refused: ends the turn. */
  | { readonly error: { readonly code?: number; readonly message: string; readonly data?: unknown } }
  /** The turn ends for this reason. */
  | { readonly stop: "max_tokens" | "max_turn_requests" | "refusal" | "cancelled" }
  | { readonly exit: number }
  | { readonly die: NodeJS.Signals }
  /** Nothing more happens; only a cancel or a signal ends it. */
  | { readonly hang: true }
  /** A line on standard output that is no JSON. */
  | { readonly garbage: string }
  | { readonly stderr: string };

/** What the scripted agent does with one prompt after the other. The last turn is used again when there are more prompts. */
export interface AcpScript {
  readonly turns: readonly (readonly AcpStep[])[];
  /** How it starts. `unknown_option`: like a version without the protocol. */
  readonly start?: "silent" | "unknown_option" | "logged_out";
  /** Default 1. */
  readonly protocolVersion?: number;
  /** Whose ways it has: how it shows which tool a call is of. Default: by the field `name`. */
  readonly agent?: "gemini-cli" | "opencode" | "codex-acp";
  /** Whether it takes MCP servers over HTTP. Default `true`. */
  readonly mcpHttp?: boolean;
  /** It takes MCP servers and never speaks to them. */
  readonly ignoresServers?: boolean;
  /** Whether tools of MCP servers ask for permission. Default `true`. */
  readonly asksForTools?: boolean;
  /** How it goes on with an old session. Default `load`. */
  readonly sessions?: "load" | "resume" | "none";
  /** Sessions cannot be found. */
  readonly forgetful?: boolean;
  /** Modes and models that can be chosen. `options`: in the newer way. */
  readonly modes?: readonly string[];
  readonly models?: readonly string[];
  readonly options?: boolean;
  /** What it does not react to. */
  readonly deaf?: readonly ("cancel" | "eof" | "sigterm")[];
}

/** It delegates the prompt and repeats the summary. */
export const DEFAULT_ACP_SCRIPT: AcpScript = {
  turns: [
    [
      { say: "I'll ask the research agent." },
      { tools: [{ name: "delegate_to_agent", input: { agent: "research", objective: "{{prompt}}" } }] },
      { say: "The research agent answered: {{result.0.summary}}", when: "ok" },
      { say: "The research agent could not finish: {{result.0.error.message}}", when: "error" },
    ],
  ],
};

/** Reads a script: `json`, else {@link DEFAULT_ACP_SCRIPT}. */
export function parseAcpScript(json: string | undefined): AcpScript {
  if (json === undefined || json === "") return DEFAULT_ACP_SCRIPT;
  const script: unknown = JSON.parse(json);
  if (typeof script === "object" && script !== null && "turns" in script && Array.isArray(script.turns)) {
    return script as AcpScript;
  }
  throw new Error("A script is an object with a list of turns.");
}
