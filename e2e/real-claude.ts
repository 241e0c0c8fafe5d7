import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The real program with an empty home of its own, talking to a scripted API. */
export interface RealClaude {
  /** For the driver's option `executable`. */
  readonly executable: string;
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** An empty working directory. */
  readonly workspace: string;
  /** Removes its directories. */
  close(): Promise<void>;
}

/** The path of the real Claude Code program, of the version that `e2e/package-lock.json` holds. */
export function realClaudeExecutable(): string {
  const musl = process.platform === "linux" && !hasGlibc() ? "-musl" : "";
  const name = process.platform === "win32" ? "claude.exe" : "claude";
  const file = `@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}${musl}/${name}`;
  try {
    return createRequire(import.meta.url).resolve(file);
  } catch (error) {
    throw new Error(`${file} is not installed; run "npm ci" in e2e/ first.`, { cause: error });
  }
}

/**
 * Prepares the real program. It sees nothing of this machine's login, settings or environment, and connects to `baseUrl` only.
 * @param options.legacy MCP as before 2026-07-28.
 */
export async function realClaude(options: {
  readonly baseUrl: string;
  readonly legacy?: boolean;
}): Promise<RealClaude> {
  const directory = await mkdtemp(join(tmpdir(), "troupe-e2e-"));
  const [home, config, temporary, workspace] = ["home", "config", "tmp", "workspace"].map((name) =>
    join(directory, name),
  );
  if (!home || !config || !temporary || !workspace) throw new Error("unreachable");
  await Promise.all([home, config, temporary, workspace].map((path) => mkdir(path)));
  return {
    executable: realClaudeExecutable(),
    workspace,
    env: {
      PATH: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
      HOME: home,
      CLAUDE_CONFIG_DIR: config,
      CLAUDE_CODE_TMPDIR: temporary,
      ANTHROPIC_BASE_URL: options.baseUrl,
      ANTHROPIC_API_KEY: "scripted-key",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_MAX_RETRIES: "1",
      ...(options.legacy ? { MCP_PROTOCOL_NEGOTIATION: "legacy" } : {}),
    },
    close: () => rm(directory, { recursive: true, force: true, maxRetries: 3 }),
  };
}

function hasGlibc(): boolean {
  const report: unknown = process.report.getReport();
  const header =
    typeof report === "object" && report !== null && "header" in report ? report.header : undefined;
  return typeof header === "object" && header !== null && "glibcVersionRuntime" in header;
}
