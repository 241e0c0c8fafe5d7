import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DEFAULT_POLICY } from "../delegation/policy.js";
import { ConfigError } from "./config-error.js";
import { findConfig, loadConfig, requireAgents } from "./load.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "troupe-config-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (text: string, name = "troupe.config.json") => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};
const load = (config: unknown, variables: Record<string, string> = {}) =>
  loadConfig(write(typeof config === "string" ? config : JSON.stringify(config)), variables).config;
const problemOf = (config: unknown, variables: Record<string, string> = {}): string => {
  try {
    load(config, variables);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("was accepted");
};
const AGENTS = { claude: { driver: "claude" } };
const remote = (more: object = {}) => ({
  agents: AGENTS,
  subAgents: {
    agents: [{ name: "research", agentCardUrl: "https://a.example/.well-known/agent-card.json", ...more }],
  },
});

describe("a config", () => {
  it("has local agents, sub-agents and where to listen", () => {
    const config = {
      $schema: "./schema.json",
      agents: {
        claude: {
          driver: "claude",
          workspace: ".",
          model: "sonnet",
          permissions: "ask",
          executable: "/opt/claude",
        },
        codex: { driver: "codex", sandbox: "workspace-write" },
      },
      subAgents: {
        agents: [
          {
            name: "research",
            agentCardUrl: "https://a.example/card",
            auth: { mode: "bearer", token: "${TOKEN}" },
            trustedOrigins: ["https://b.example"],
          },
          {
            name: "painter",
            protocol: "a2a",
            agentCardUrl: "http://localhost:1/card",
            endpointUrlOverride: "http://localhost:2/",
            auth: { mode: "api_key", key: "k", headerName: "x-key" },
          },
          { name: "open", agentCardUrl: "http://localhost:3/card", auth: { mode: "none" } },
        ],
        options: { probeTimeoutMs: 5_000 },
      },
      serve: { hostname: "127.0.0.1", port: 0 },
    };
    const loaded = load(config, { TOKEN: "s3cret" });
    expect(loaded.subAgents?.agents[0]?.auth).toEqual({ mode: "bearer", token: "s3cret" });
    expect({ ...loaded, subAgents: undefined }).toEqual({ ...config, subAgents: undefined });
    expect(load({ agents: {} })).toEqual({ agents: {} });
  });

  it("takes S2's own example word for word", () => {
    const example = `"subAgents": {
"agents": [
{
"name": "coding",
"agentCardUrl": "https://coding.example.com/.well-known/agent-card.json",
"auth": { "mode": "bearer", "token": "\${CODING_AGENT_TOKEN}" }
},
{
"name": "research",
"agentCardUrl": "https://research.example.com/",
"endpointUrlOverride": "https://research.internal.local/.well-known/agent-card.json"
}
],
"options": { "responseMode": "artifact", "probeTimeoutMs": 5000, "syncBudgetMs": 30000 }
}`;
    const { subAgents } = load(`{ "agents": { "claude": { "driver": "claude" } }, ${example} }`, {
      CODING_AGENT_TOKEN: "t0ken",
    });
    expect(subAgents?.agents.map(({ name, auth }) => [name, auth])).toEqual([
      ["coding", { mode: "bearer", token: "t0ken" }],
      ["research", undefined],
    ]);
    expect(subAgents?.options).toEqual({
      responseMode: "artifact",
      probeTimeoutMs: 5_000,
      syncBudgetMs: 30_000,
    });
  });

  it("may have comments and trailing commas", () => {
    expect(
      load('{\n  // parents\n  "agents": { "claude": { "driver": "claude", }, }, /* none */\n}'),
    ).toEqual({ agents: AGENTS });
  });

  it("tells where it came from: relative paths start there", () => {
    const file = write(JSON.stringify({ agents: AGENTS }));
    expect(loadConfig(file, {})).toMatchObject({ file, folder });
  });

  it("is found in a folder: JSON before JSONC, nothing else", () => {
    expect(findConfig(folder)).toBeUndefined();
    const jsonc = write("{}", "troupe.config.jsonc");
    expect(findConfig(folder)).toBe(jsonc);
    const json = write("{}");
    expect(findConfig(folder)).toBe(json);
  });
});

describe("what cannot be used says where, what, and what to do", () => {
  it("a file that is not there", () => {
    expect(() => loadConfig(join(folder, "none.json"), {})).toThrow(/none\.json cannot be read.*--config/s);
  });

  it("text that is not JSON, with its line", () => {
    expect(problemOf('{\n  "agents": {},\n  oops\n}')).toMatch(/troupe\.config\.json:3: not valid JSON/);
    expect(problemOf("")).toMatch(/not valid JSON/);
  });

  it.each([
    ["an unknown key at the top", { agents: AGENTS, subagents: {} }, "subagents"],
    [
      "an unknown key of an agent",
      { agents: { claude: { driver: "claude", modle: "x" } } },
      "agents.claude: .*modle",
    ],
    ["an unknown driver", { agents: { x: { driver: "pilot" } } }, "agents.x.driver: .*claude"],
    ["no program for acp", { agents: { x: { driver: "acp" } } }, "agents.x.command: .*needed"],
    [
      "a program for a driver that has its own",
      { agents: { x: { driver: "gemini", command: "y", args: [] } } },
      "agents.x.command: .*executable",
    ],
    [
      "an executable for acp",
      { agents: { x: { driver: "acp", command: "y", executable: "z" } } },
      "agents.x.executable: .*command",
    ],
    [
      "variables for a driver that knows its own",
      { agents: { x: { driver: "cursor", environment: ["X"] } } },
      "agents.x.environment: .*gemini",
    ],
    [
      "a variable with a value",
      { agents: { x: { driver: "acp", command: "y", environment: ["KEY=value"] } } },
      "agents.x.environment.0: .*name",
    ],
    [
      "a sandbox for a program that has none",
      { agents: { x: { driver: "claude", sandbox: "read-only" } } },
      "agents.x.sandbox: .*codex",
    ],
    [
      "an unknown sandbox",
      { agents: { x: { driver: "codex", sandbox: "none" } } },
      "agents.x.sandbox: .*read-only",
    ],
    [
      "an unknown mode",
      { agents: { x: { driver: "claude", permissions: "yolo" } } },
      "agents.x.permissions: .*ask",
    ],
    ["an agent's key with a slash", { agents: { "a/b": { driver: "claude" } } }, "agents"],
    ["a list", [], "top"],
    ["an unknown key of a sub-agent", remote({ token: "x" }), "subAgents.agents.0: .*token"],
    [
      "an unknown key of its auth",
      remote({ auth: { mode: "bearer", token: "x", header: "y" } }),
      "subAgents.agents.0.auth: .*header",
    ],
    ["an unknown way to authenticate", remote({ auth: { mode: "oauth" } }), "subAgents.agents.0.auth"],
    ["a bearer without a token", remote({ auth: { mode: "bearer" } }), "subAgents.agents.0.auth.token"],
    ["an empty token", remote({ auth: { mode: "bearer", token: "" } }), "subAgents.agents.0.auth.token"],
    [
      "a card that is no URL",
      remote({ agentCardUrl: "research" }),
      "subAgents.agents.0.agentCardUrl: .*http://",
    ],
    [
      "a URL without http",
      remote({ agentCardUrl: "localhost:4000" }),
      "subAgents.agents.0.agentCardUrl: .*http://",
    ],
    ["a sub-agent's name with a space", remote({ name: "a b" }), "subAgents.agents.0.name: .*at most 64"],
    [
      "two sub-agents of one name",
      {
        agents: AGENTS,
        subAgents: { agents: Array(2).fill({ name: "a", agentCardUrl: "http://a.example/" }) },
      },
      "subAgents.agents: .*same name",
    ],
    [
      "an unknown response mode",
      { agents: AGENTS, subAgents: { agents: [], options: { responseMode: "everything" } } },
      "subAgents.options.responseMode: .*compact",
    ],
    [
      "an unknown set of tools",
      { agents: AGENTS, subAgents: { agents: [], options: { toolset: "all" } } },
      "subAgents.options.toolset: .*skills",
    ],
    [
      "a budget of nothing",
      { agents: AGENTS, subAgents: { agents: [], options: { syncBudgetMs: 0 } } },
      "subAgents.options.syncBudgetMs",
    ],
    [
      "permissions of an unknown kind",
      { agents: { x: { driver: "claude", permissions: { tools: "ask" } } } },
      "agents.x.permissions: .*tools",
    ],
    ["a port that does not exist", { agents: AGENTS, serve: { port: 70_000 } }, "serve.port"],
  ])("%s", (_what, config, expected) => {
    expect(problemOf(config)).toMatch(new RegExp(expected, "s"));
  });

  it("local agents are needed by what runs them, and by nothing else", () => {
    const folder = write("{}");
    expect(loadConfig(folder, {}).config.agents).toEqual({});
    expect(() => requireAgents(loadConfig(folder, {}))).toThrow(/agents: .*claude/);
  });

  it("all problems at once, one a line", () => {
    expect(
      problemOf({ agents: { a: { driver: "x" }, b: { driver: "y" } }, more: 1 }).split("\n"),
    ).toHaveLength(4);
  });

  it("never a credential", () => {
    const variables = { TOKEN: "s3cret-token" };
    for (const config of [
      remote({ auth: { mode: "bearer", token: "${TOKEN}", extra: "${TOKEN}" } }),
      remote({ auth: { mode: "${TOKEN}", token: "${TOKEN}" } }),
      remote({ name: "${TOKEN} !", auth: { mode: "bearer", token: "${TOKEN}" } }),
    ])
      expect(problemOf(config, variables)).not.toContain("s3cret-token");
  });
});

describe("the policy of delegations", () => {
  const withPolicy = (policy: unknown) => ({
    agents: AGENTS,
    subAgents: { agents: [], options: { policy } },
  });

  it("as the documentation shows x", () => {
    const page = readFileSync("docs/configuration.md", "utf8");
    const example = /### Policy[\s\S]*?```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    expect(JSON.parse(example)).toEqual(DEFAULT_POLICY);
    expect(load(withPolicy(JSON.parse(example))).subAgents?.options?.policy).toEqual(DEFAULT_POLICY);
  });

  it.each([
    [{ maxDepth: 17 }, /policy\.maxDepth/],
    [{ onRunEnd: "keep" }, /policy\.onRunEnd/],
    [{ maxDept: 1 }, /maxDept/],
  ])("%j is refused by its place", (policy, words) => expect(problemOf(withPolicy(policy))).toMatch(words));
});
