import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DriverRequest } from "../../core/driver.js";
import type { McpServer } from "../../core/mcp-server.js";
import type { JsonObject } from "../process/json.js";
import type { ClaudeOptions } from "./options.js";
import { mcpServerName } from "./tool-name.js";

/** The least timeout that the program takes for a server; it ignores a smaller one. */
const LEAST_SERVER_TIMEOUT_MS = 1_000;

/** The program's command line. It holds no secret: `/proc` shows it to everyone. */
export function claudeCommand(
  options: ClaudeOptions,
  request: Pick<DriverRequest, "mcpServers" | "persist" | "resume">,
  newSession: string,
): [string, ...string[]] {
  const [file, ...first] =
    typeof options.executable === "string" ? [options.executable] : (options.executable ?? ["claude"]);
  const trusted = request.mcpServers
    .filter((server) => server.trusted)
    .map((server) => `mcp__${mcpServerName(server.name)}`);
  const allowed = [...(options.allowedTools ?? []), ...trusted];
  const disallowed = options.disallowedTools ?? [];
  return [
    file,
    ...first,
    "-p",
    ...[
      "--input-format",
      "stream-json",
      "--output-format",
      "stream-json",
      "--verbose",
      "--include-partial-messages",
    ],
    // The servers come with the initialize request, for which the program waits; others that it might find are left out.
    ...["--strict-mcp-config", "--await-initialize"],
    ...["--permission-prompt-tool", "stdio", "--permission-mode", "manual"],
    ...["--setting-sources", (options.settingSources ?? []).join(",")],
    ...(allowed.length > 0 ? ["--allowedTools", ...allowed] : []),
    ...(disallowed.length > 0 ? ["--disallowedTools", ...disallowed] : []),
    ...(options.model === undefined ? [] : ["--model", options.model]),
    ...(options.maxTurns === undefined ? [] : ["--max-turns", String(options.maxTurns)]),
    ...(options.appendSystemPrompt === undefined
      ? []
      : ["--append-system-prompt", options.appendSystemPrompt]),
    ...sessionArguments(request, newSession),
    ...(options.extraArgs ?? []),
  ];
}

function sessionArguments(request: Pick<DriverRequest, "persist" | "resume">, newSession: string): string[] {
  const keep = request.persist ? [] : ["--no-session-persistence"];
  if (!request.resume) return request.persist ? ["--session-id", newSession] : keep;
  const { checkpoint, fork } = request.resume;
  return ["--resume", checkpoint.session, ...(fork ? ["--fork-session"] : []), ...keep];
}

/** The program's environment: the agent's own, and what keeps runs apart. */
export function claudeEnvironment(
  options: ClaudeOptions,
  env: Readonly<Record<string, string>>,
  temporary: string,
): Record<string, string> {
  return {
    // An update in the middle of a run would exchange the program under it.
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_TMPDIR: temporary,
    ...(options.maxRetries === undefined ? {} : { CLAUDE_CODE_MAX_RETRIES: String(options.maxRetries) }),
    ...env,
  };
}

/** The `initialize` request: the only place where MCP credentials go. */
export function initializeRequest(servers: readonly McpServer[]): JsonObject {
  return {
    subtype: "initialize",
    mcpServers: Object.fromEntries(servers.map((server) => [server.name, serverConfig(server)])),
  };
}

function serverConfig(server: McpServer): JsonObject {
  const common = {
    // Otherwise the tools hide behind a search, and the model has to find them first.
    alwaysLoad: true,
    ...(server.timeoutMs === undefined
      ? {}
      : { timeout: Math.max(LEAST_SERVER_TIMEOUT_MS, server.timeoutMs) }),
  };
  return server.transport === "http"
    ? { type: "http", url: server.url, headers: server.headers ?? {}, ...common }
    : { type: "stdio", command: server.command, args: server.args ?? [], env: server.env ?? {}, ...common };
}

/** A directory of its own for a run's scratch files: the program's default one is shared by all runs and left behind by a kill. */
export async function temporaryDirectory(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "troupe-claude-"));
  return {
    path,
    // A file that is still held must not turn a finished run into a failed one.
    remove: () => rm(path, { recursive: true, force: true, maxRetries: 2 }).catch(() => {}),
  };
}
