import { defined } from "../../core/defined.js";
import type { Driver } from "../../core/driver.js";
import { acp } from "./acp.js";
import type { AcpOptions } from "./options.js";

/** What every preset takes. */
export interface AcpPresetOptions
  extends Pick<
    AcpOptions,
    "env" | "mode" | "model" | "authMethod" | "startTimeoutMs" | "graceMs" | "environment"
  > {
  /** The program, or the program and its first arguments. Default: its usual name, looked up on the agent's `PATH`. */
  readonly executable?: string | readonly [string, ...string[]];
  /** More arguments, as they are. */
  readonly extraArgs?: readonly string[];
}

/** Options of {@link gemini}. */
export interface GeminiOptions extends AcpPresetOptions {
  /**
   * Whether the workspace counts as trusted, which Gemini CLI wants before it uses any MCP server; its project settings and hooks then
   * count too. Default `true`.
   */
  readonly trustWorkspace?: boolean;
}

/** Gemini CLI (`gemini --acp`). */
export function gemini(options: GeminiOptions = {}): Driver {
  const { trustWorkspace = true, model, env, ...others } = options;
  return preset(
    {
      name: "gemini",
      title: "Gemini CLI",
      install: 'Install it ("npm install -g @google/gemini-cli"), or set the driver\'s option "executable".',
      executable: "gemini",
      // Its list of models leaves some out that it knows, so the model is an argument.
      args: ["--acp", ...(model === undefined ? [] : ["--model", model])],
      environment: ["GEMINI_*", "GOOGLE_*", "CLOUDSDK_*"],
    },
    { ...others, env: { ...(trustWorkspace && { GEMINI_CLI_TRUST_WORKSPACE: "true" }), ...env } },
  );
}

/** OpenCode (`opencode acp`). */
export function openCode(options: AcpPresetOptions = {}): Driver {
  return preset(
    {
      name: "opencode",
      title: "OpenCode",
      install: 'Install it ("npm install -g opencode-ai"), or set the driver\'s option "executable".',
      executable: "opencode",
      args: ["acp"],
      environment: ["OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_API_KEY", "OPENROUTER_API_KEY"],
    },
    options,
  );
}

/** Codex by the adapter `codex-acp`. Troupe's own driver of Codex can more; this is for where only the adapter is. */
export function codexAcp(options: AcpPresetOptions = {}): Driver {
  return preset(
    {
      name: "codex-acp",
      title: "codex-acp",
      install:
        'Install it ("npm install -g @agentclientprotocol/codex-acp"), or set the driver\'s option "executable".',
      executable: "codex-acp",
      args: [],
      environment: ["CODEX_*", "OPENAI_*", "MODEL_PROVIDER", "INITIAL_AGENT_MODE", "DEFAULT_AUTH_REQUEST"],
    },
    options,
  );
}

/**
 * Cursor by the Agent Client Protocol (`agent acp`). Versions that are known drop the run's MCP servers, some without a word; the run
 * then fails instead of going on without them. The driver `cursor` hands them over in another way.
 */
export function cursorAcp(options: AcpPresetOptions = {}): Driver {
  return preset(
    {
      name: "cursor-acp",
      title: "Cursor",
      install: 'Install it (see cursor.com/cli), or set the driver\'s option "executable".',
      executable: "agent",
      args: ["acp"],
      environment: ["CURSOR_API_KEY", "CURSOR_AUTH_TOKEN", "CURSOR_CONFIG_DIR"],
      mcpContactMs: 10_000,
    },
    options,
  );
}

interface Preset extends Omit<AcpOptions, "command" | "args" | "env"> {
  readonly executable: string;
  readonly args: readonly string[];
}

function preset({ executable: usual, args, ...known }: Preset, options: AcpPresetOptions): Driver {
  const { executable = usual, extraArgs = [], environment = [], ...others } = options;
  const [command, ...first] = typeof executable === "string" ? [executable] : executable;
  return acp({
    ...known,
    ...defined(others),
    command,
    args: [...first, ...args, ...extraArgs],
    environment: [...(known.environment ?? []), ...environment],
  });
}
