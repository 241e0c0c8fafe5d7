import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DEFAULT_POLICY } from "../delegation/policy.js";
import { ManualClock } from "../testing/manual-clock.js";
import { ConfigError } from "./config-error.js";
import { examineConfig, findConfig, loadConfig, requireAgents } from "./load.js";
import { readConfig } from "./read.js";

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
const load = async (config: unknown, variables: Record<string, string> = {}) =>
  (await loadConfig(write(typeof config === "string" ? config : JSON.stringify(config)), variables)).config;
const problemOf = async (config: unknown, variables: Record<string, string> = {}): Promise<string> => {
  try {
    await load(config, variables);
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
  it("has local agents, sub-agents and where to listen", async () => {
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
    const loaded = await load(config, { TOKEN: "s3cret" });
    expect(loaded.subAgents?.agents[0]?.auth).toEqual({ mode: "bearer", token: "s3cret" });
    expect({ ...loaded, subAgents: undefined }).toEqual({ ...config, subAgents: undefined });
    expect(await load({ agents: {} })).toEqual({ agents: {} });
  });

  it("takes the example of declared sub-agents word for word, in JSON and in YAML", async () => {
    const example = `{
"subAgents": {
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
}
}`;
    const variables = { CODING_AGENT_TOKEN: "t0ken" };
    const config = await load(example, variables);
    expect(config).toEqual({
      agents: {},
      subAgents: {
        ...JSON.parse(example).subAgents,
        agents: [
          { ...JSON.parse(example).subAgents.agents[0], auth: { mode: "bearer", token: "t0ken" } },
          JSON.parse(example).subAgents.agents[1],
        ],
      },
    });
    // JSON is YAML.
    expect((await loadConfig(write(example, "troupe.config.yaml"), variables)).config).toEqual(config);
  });

  it("may have comments and trailing commas", async () => {
    expect(
      await load('{\n  // parents\n  "agents": { "claude": { "driver": "claude", }, }, /* none */\n}'),
    ).toEqual({ agents: AGENTS });
  });

  it("tells where it came from: relative paths start there", async () => {
    const file = write(JSON.stringify({ agents: AGENTS }));
    expect(await loadConfig(file, {})).toMatchObject({ file, folder });
  });

  it("is found in a folder by its name: JSON before YAML before JavaScript", () => {
    expect(findConfig(folder)).toBeUndefined();
    write("{}", "config.json");
    for (const ending of ["mjs", "js", "yml", "yaml", "jsonc", "json"]) {
      const file = write("", `troupe.config.${ending}`);
      expect(findConfig(folder)).toBe(file);
    }
  });

  it("may be YAML", async () => {
    const text = "# parents\nagents:\n  claude: { driver: claude }\nserve:\n  port: 0\n";
    for (const name of ["a.yaml", "a.yml"])
      expect((await loadConfig(write(text, name), {})).config).toEqual({
        agents: AGENTS,
        serve: { port: 0 },
      });
  });

  it("may be a JavaScript module: its default export, or `config`", async () => {
    const value = '{ agents: { claude: { driver: "claude", model: "${MODEL}" } } }';
    const files = [
      write(`export default ${value};`, "a.mjs"),
      write(`export const config = ${value};`, "b.mjs"),
      write(`module.exports = ${value};`, "c.js"),
    ];
    for (const file of files) {
      const { config } = await loadConfig(file, { MODEL: "sonnet" });
      expect(config.agents).toEqual({ claude: { driver: "claude", model: "sonnet" } });
    }
  });
});

describe("what cannot be used says where, what, and what to do", () => {
  it.each(["none.json", "none.yaml", "none.mjs"])("a file that is not there: %s", async (name) => {
    const expected = new RegExp(`${name} cannot be read.*--config`, "s");
    await expect(loadConfig(join(folder, name), {})).rejects.toThrow(expected);
  });

  it.each([
    [
      "YAML with a key that is there twice",
      "a.yaml",
      "agents: {}\nserve: {}\nagents: {}\n",
      /a\.yaml:3: not valid YAML \(DUPLICATE_KEY\)/,
    ],
    ["YAML that is none", "a.yml", "agents: {\n", /a\.yml:\d: not valid YAML/],
    [
      "YAML that would grow without end",
      "a.yaml",
      `a: &a [x]\n${"bcdefgh"
        .split("")
        .map((name, index) => `${name}: &${name} [${`*${"abcdefgh"[index]}, `.repeat(9)}]`)
        .join("\n")}\n`,
      /alias/,
    ],
    ["YAML that contains itself", "a.yaml", "agents: &a\n  b: *a\n", /contains itself/],
    ["a module with a mistake", "a.mjs", "export default {", /a\.mjs could not be run: ./],
    ["a module that throws", "b.mjs", 'throw new Error("no luck")', /could not be run: no luck/],
    [
      "a module that needs another which is not there",
      "c.mjs",
      'import "./gone.mjs"',
      /could not be run: .*gone/,
    ],
    ["a module without a config", "d.mjs", "export const other = 1;", /exports no config.*export default/],
    ["a module with a function", "e.mjs", "export default () => ({})", /exports no config/],
    ["a module with a circle", "f.mjs", "const a = {}; a.a = a; export default a;", /contains itself/],
  ])("%s", async (_what, name, text, expected) => {
    const loading = loadConfig(write(text, name), {});
    await expect(loading).rejects.toBeInstanceOf(ConfigError);
    await expect(loading).rejects.toThrow(expected);
  });

  it("text that is not JSON, with its line", async () => {
    expect(await problemOf('{\n  "agents": {},\n  oops\n}')).toMatch(
      /troupe\.config\.json:3: not valid JSON/,
    );
    expect(await problemOf("")).toMatch(/not valid JSON/);
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
    ["a key without a key", remote({ auth: { mode: "api_key" } }), "subAgents.agents.0.auth.key: .*needed"],
    [
      "a key by both of its names",
      remote({ auth: { mode: "api_key", key: "k", token: "k" } }),
      "subAgents.agents.0.auth.key: .*once",
    ],
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
      "subAgents.options.syncBudgetMs: must be more than 0",
    ],
    [
      "permissions of an unknown kind",
      { agents: { x: { driver: "claude", permissions: { tools: "ask" } } } },
      "agents.x.permissions: .*tools",
    ],
    ["a port that does not exist", { agents: AGENTS, serve: { port: 70_000 } }, "serve.port"],
  ])("%s", async (_what, config, expected) => {
    expect(await problemOf(config)).toMatch(new RegExp(expected, "s"));
  });

  it("local agents are needed by what runs them, and by nothing else", async () => {
    const loaded = await loadConfig(write("{}"), {});
    expect(loaded.config.agents).toEqual({});
    expect(() => requireAgents(loaded)).toThrow(/agents: .*claude/);
  });

  it("all problems at once, one a line", async () => {
    const told = await problemOf({ agents: { a: { driver: "x" }, b: { driver: "y" } }, more: 1 });
    expect(told.split("\n")).toHaveLength(4);
  });

  it("never a credential", async () => {
    const variables = { TOKEN: "s3cret-token" };
    for (const config of [
      remote({ auth: { mode: "bearer", token: "${TOKEN}", extra: "${TOKEN}" } }),
      remote({ auth: { mode: "${TOKEN}", token: "${TOKEN}" } }),
      remote({ name: "${TOKEN} !", auth: { mode: "bearer", token: "${TOKEN}" } }),
    ])
      expect(await problemOf(config, variables)).not.toContain("s3cret-token");
  });

  it("what came from a variable is shown as it was written", async () => {
    const told = await problemOf({ agents: { x: { driver: "${DRIVER}" } } }, { DRIVER: "hidden" });
    expect(told).toContain('(it is "${DRIVER}")');
    expect(told).not.toContain("hidden");
  });

  it("a missing variable is told with its places", async () => {
    const told = await problemOf(
      remote({ auth: { mode: "bearer", token: "${NONE}" }, agentCardUrl: "${NONE}/x" }),
    );
    expect(told).toMatch(/needs \$\{NONE\}, which/);
    expect(told).toContain("wanted at subAgents.agents.0.agentCardUrl, subAgents.agents.0.auth.token");
  });
});

it("a module that waits for ever is given up", async () => {
  const clock = new ManualClock();
  let told = "";
  readConfig(write("export default await new Promise(() => {});", "a.mjs"), clock).catch((error: unknown) => {
    told = String(error);
  });
  await expect.poll(() => clock.advance(1_000).then(() => told)).toMatch(/had no config after 10 s/);
});

describe("examineConfig", () => {
  it("tells what is missing and what is wrong, and not what is wrong only because something is missing", async () => {
    const examine = (config: object) => examineConfig(write(JSON.stringify(config)), {});
    const missing = await examine(remote({ name: "${NAME}", auth: { mode: "bearer", token: "${TOKEN}" } }));
    expect(missing.missing.map(({ name }) => name)).toEqual(["NAME", "TOKEN"]);
    expect(missing).toMatchObject({ problems: [] });
    expect(missing.loaded).toBeUndefined();
    const both = await examine({ ...remote({ auth: { mode: "bearer", token: "${TOKEN}" } }), sever: {} });
    expect([both.missing.length, both.problems.length]).toEqual([1, 1]);
    const only = await examine(remote({ auth: { mode: "bearer", token: "${TOKEN}" } }));
    expect(only).toMatchObject({ problems: [], loaded: { config: { agents: AGENTS } } });
  });
});

describe("the policy of delegations", () => {
  const withPolicy = (policy: unknown) => ({
    agents: AGENTS,
    subAgents: { agents: [], options: { policy } },
  });

  it("as the documentation shows it", async () => {
    const page = readFileSync("docs/configuration.md", "utf8");
    const example = /### Policy[\s\S]*?```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
    expect(JSON.parse(example)).toEqual(DEFAULT_POLICY);
    const loaded = await load(withPolicy(JSON.parse(example)));
    expect(loaded.subAgents?.options?.policy).toEqual(DEFAULT_POLICY);
  });

  it.each([
    [{ maxDepth: 17 }, /policy\.maxDepth/],
    [{ onRunEnd: "keep" }, /policy\.onRunEnd/],
    [{ maxDept: 1 }, /maxDept/],
  ])("%j is refused by its place", async (policy, words) =>
    expect(await problemOf(withPolicy(policy))).toMatch(words),
  );
});
