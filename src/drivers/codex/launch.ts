import { defined } from "../../core/defined.js";
import type { DriverRequest } from "../../core/driver.js";
import type { McpServer } from "../../core/mcp-server.js";
import { asObject, isObject, type JsonObject } from "../process/json.js";
import { isSecretName } from "../process/redactor.js";
import { secretsOf } from "../process/secrets.js";
import type { CodexOptions } from "./options.js";
import { CLIENT_NAME, UNWANTED_NOTIFICATIONS } from "./protocol.js";

/** The program's command line. It holds no secret: `/proc` shows it to everyone. */
export function codexCommand(options: CodexOptions): [string, ...string[]] {
  const [file, ...first] =
    typeof options.executable === "string" ? [options.executable] : (options.executable ?? ["codex"]);
  return [file, ...first, "app-server", ...(options.extraArgs ?? [])];
}

/** The first request. The experimental part of the interface has the end of background terminals. */
export function initializeParams(version: string): JsonObject {
  return {
    clientInfo: { name: CLIENT_NAME, title: "Troupe", version },
    capabilities: { experimentalApi: true, optOutNotificationMethods: UNWANTED_NOTIFICATIONS },
  };
}

/** The request that opens the run's thread: a new one, an old one, or a copy of an old one. */
export function openThread(
  options: CodexOptions,
  request: Pick<DriverRequest, "workspace" | "mcpServers" | "persist" | "resume">,
): { readonly method: string; readonly params: JsonObject } {
  const { model, developerInstructions } = options;
  const common = {
    cwd: request.workspace,
    sandbox: options.sandbox ?? "read-only",
    approvalPolicy: options.approvalPolicy ?? "on-request",
    config: threadConfig(options, request.mcpServers),
    ...defined({ model, developerInstructions }),
  };
  if (!request.resume) return { method: "thread/start", params: { ...common, ephemeral: !request.persist } };
  const { checkpoint, fork } = request.resume;
  return {
    method: fork ? "thread/fork" : "thread/resume",
    // The old turns are not shown again, and may be long.
    params: { ...common, threadId: checkpoint.session, excludeTurns: true },
  };
}

/** The configuration of the thread: the only place where MCP credentials go. */
function threadConfig(options: CodexOptions, servers: readonly McpServer[]): JsonObject {
  const { reasoningEffort, config = {} } = options;
  return {
    ...defined({ model_reasoning_effort: reasoningEffort }),
    ...config,
    mcp_servers: {
      ...asObject(config.mcp_servers),
      ...Object.fromEntries(servers.map((server) => [server.name, serverConfig(server)])),
    },
  };
}

function serverConfig(server: McpServer): JsonObject {
  const common = {
    // What the host itself gives to the run is what the run is for; a server of the user may be missing.
    required: server.trusted === true,
    default_tools_approval_mode: server.trusted === true ? "approve" : "prompt",
    supports_parallel_tool_calls: server.parallel === true,
    // Progress does not extend it, and its default is 300 s.
    ...(server.timeoutMs === undefined ? {} : { tool_timeout_sec: Math.ceil(server.timeoutMs / 1_000) }),
  };
  return server.transport === "http"
    ? { url: server.url, http_headers: server.headers ?? {}, ...common }
    : { command: server.command, args: server.args ?? [], env: server.env ?? {}, ...common };
}

/**
 * Whether the answer to `account/read` means that there is no login. A provider or a key that only the run has may be unknown to that
 * answer, so then it means nothing.
 */
export function lacksLogin(
  account: JsonObject,
  { config }: CodexOptions,
  env: Readonly<Record<string, string>>,
): boolean {
  if (account.requiresOpenaiAuth !== true || account.account !== null) return false;
  const keys = ["CODEX_API_KEY", "OPENAI_API_KEY", "CODEX_ACCESS_TOKEN"];
  return config?.model_provider === undefined && !keys.some((name) => (env[name] ?? "") !== "");
}

/** Every credential that the driver can know of, those in its own options too. */
export function codexSecrets(
  options: CodexOptions,
  request: Pick<DriverRequest, "mcpServers" | "env">,
): string[] {
  const env = { ...options.env, ...request.env };
  return [...secretsOf({ mcpServers: request.mcpServers, env }), ...secretsIn(options.config)];
}

/** Headers and variables of servers are named by people, so all of them count. Keys such as `env_key` only name a variable. */
function secretsIn(value: unknown, secret = false): string[] {
  if (typeof value === "string") return secret ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((item) => secretsIn(item, secret));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    if (name === "env_key" || name.endsWith("env_var") || name === "env_http_headers") return [];
    return secretsIn(item, secret || name === "http_headers" || name === "env" || isSecretName(name));
  });
}
