import { expect, test } from "vitest";
import type { McpServer } from "../../core/mcp-server.js";
import { codexCommand, codexSecrets, lacksLogin, openThread } from "./launch.js";
import { isOlder, versionOf } from "./protocol.js";

const server: McpServer = {
  name: "a2a",
  transport: "http",
  url: "http://127.0.0.1:1/mcp",
  headers: { Authorization: "Bearer secret" },
};
const request = { workspace: "/w", mcpServers: [server], persist: false };

test("the command line is the app-server and nothing secret", () => {
  expect(codexCommand({})).toEqual(["codex", "app-server"]);
  expect(codexCommand({ executable: ["node", "x.js"], extraArgs: ["--strict-config"] })).toEqual([
    ...["node", "x.js", "app-server", "--strict-config"],
  ]);
});

test("case 015: a server that the host gives is needed and trusted; another may be missing and is asked for; limits are written out", () => {
  const trusted = { ...server, trusted: true, parallel: true, timeoutMs: 90_500 };
  const stdio: McpServer = {
    name: "s",
    transport: "stdio",
    command: "node",
    args: ["x.js"],
    env: { A: "1" },
  };
  const { params } = openThread({}, { ...request, mcpServers: [trusted, stdio] });
  expect(params.config).toEqual({
    mcp_servers: {
      a2a: {
        url: "http://127.0.0.1:1/mcp",
        http_headers: { Authorization: "Bearer secret" },
        required: true,
        default_tools_approval_mode: "approve",
        supports_parallel_tool_calls: true,
        tool_timeout_sec: 91,
      },
      s: {
        command: "node",
        args: ["x.js"],
        env: { A: "1" },
        required: false,
        default_tools_approval_mode: "prompt",
        supports_parallel_tool_calls: false,
      },
    },
  });
});

test("careful by default; options go to the thread, and its configuration keeps the run's servers", () => {
  expect(openThread({}, request)).toMatchObject({
    method: "thread/start",
    params: { cwd: "/w", sandbox: "read-only", approvalPolicy: "on-request", ephemeral: true },
  });
  const options = {
    model: "gpt-5.5",
    sandbox: "workspace-write",
    approvalPolicy: "untrusted",
    reasoningEffort: "high",
    developerInstructions: "Be brief.",
    config: { web_search: "live", mcp_servers: { mine: { command: "x" }, a2a: { command: "evil" } } },
  } as const;
  expect(openThread(options, request).params).toMatchObject({
    model: "gpt-5.5",
    sandbox: "workspace-write",
    approvalPolicy: "untrusted",
    developerInstructions: "Be brief.",
    config: {
      model_reasoning_effort: "high",
      web_search: "live",
      mcp_servers: { mine: { command: "x" }, a2a: { url: "http://127.0.0.1:1/mcp" } },
    },
  });
});

test("threads: a new one that is kept, an old one, a copy", () => {
  const resume = (fork: boolean) => ({
    checkpoint: { driver: "codex", workspace: "/w", session: "old" },
    fork,
  });
  expect(openThread({}, { ...request, persist: true }).params).toMatchObject({ ephemeral: false });
  expect(openThread({}, { ...request, persist: true, resume: resume(false) })).toMatchObject({
    method: "thread/resume",
    params: { threadId: "old", excludeTurns: true, config: { mcp_servers: { a2a: {} } } },
  });
  expect(openThread({}, { ...request, persist: true, resume: resume(true) })).toMatchObject({
    method: "thread/fork",
    params: { threadId: "old" },
  });
});

test("credentials in the configuration are known, names of variables are none", () => {
  const config = {
    model_providers: {
      own: { env_key: "OWN_KEY_NAME", experimental_bearer_token: "bearer-value", base_url: "http://x" },
    },
    mcp_servers: { mine: { http_headers: { "X-Team": "team-value" }, bearer_token_env_var: "NAME" } },
  };
  const secrets = codexSecrets(
    { config, env: { OWN_KEY: "of-options" } },
    { mcpServers: [server], env: { API_TOKEN: "of-agent", LANG: "C" } },
  );
  expect(secrets.sort()).toEqual([
    ...["Bearer secret", "bearer-value", "of-agent", "of-options", "team-value"],
  ]);
});

test("versions are read and compared by number", () => {
  expect(versionOf({ userAgent: "troupe/0.171.0 (Debian 12.0.0; x86_64) unknown (troupe; 0.1.0)" })).toBe(
    "0.171.0",
  );
  expect(versionOf({ userAgent: "something" })).toBeUndefined();
  expect(isOlder("0.99.9", "0.171.0")).toBe(true);
  expect(isOlder("0.171.0", "0.171.0")).toBe(false);
  expect(isOlder("1.0.0", "0.171.0")).toBe(false);
});

test("no account means no login, unless the run brings its own key or provider", () => {
  const none = { account: null, requiresOpenaiAuth: true };
  expect(lacksLogin(none, {}, {})).toBe(true);
  expect(lacksLogin(none, {}, { OPENAI_API_KEY: "" })).toBe(true);
  expect(lacksLogin(none, {}, { CODEX_API_KEY: "k" })).toBe(false);
  expect(lacksLogin(none, { config: { model_provider: "own" } }, {})).toBe(false);
  expect(lacksLogin({ account: null, requiresOpenaiAuth: false }, {}, {})).toBe(false);
  expect(lacksLogin({ account: { type: "chatgpt" }, requiresOpenaiAuth: true }, {}, {})).toBe(false);
  expect(lacksLogin({}, {}, {})).toBe(false);
});
