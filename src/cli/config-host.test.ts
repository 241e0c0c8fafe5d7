import { expect, it, vi } from "vitest";
import type { Config } from "../config/schema.js";
import { createHost } from "../host/host.js";
import { createConfiguredHost } from "./config-host.js";

vi.mock("../host/host.js", () => ({ createHost: vi.fn() }));

/** What the host of a config is created with. */
async function optionsOf(config: Config) {
  await createConfiguredHost({ config, file: "/x/troupe.config.json", folder: "/x" });
  return vi.mocked(createHost).mock.lastCall?.[0];
}

it("the options of sub-agents reach the host", async () => {
  const agents = [{ name: "research", agentCardUrl: "http://127.0.0.1:1/" }];
  const options = {
    responseMode: "compact",
    toolset: "skills",
    syncBudgetMs: 30_000,
    probeTimeoutMs: 1_000,
  } as const;
  const { responseMode, ...rest } = options;
  expect(await optionsOf({ agents: {}, subAgents: { agents, options } })).toMatchObject({
    ...rest,
    policy: { responseMode },
    subAgents: [{ remote: { key: "research", protocol: "a2a" }, policy: {} }],
  });
});

it("the policy of all and the policy of one agent reach the host", async () => {
  const policy = { maxDepth: 2, onRunEnd: "detach" } as const;
  const agents = [{ name: "research", agentCardUrl: "http://127.0.0.1:1/", policy: { maxArtifacts: 3 } }];
  const config = {
    agents: {},
    subAgents: { agents, options: { policy } },
    serve: { publicUrl: "https://troupe.example" },
  };
  expect(await optionsOf(config)).toMatchObject({
    policy,
    publicUrl: "https://troupe.example",
    subAgents: [{ policy: { maxArtifacts: 3 } }],
  });
});

it("without options the host has its own defaults", async () => {
  const options = await optionsOf({ agents: {} });
  expect(options).toMatchObject({ policy: {} });
  expect(Object.keys(options?.policy ?? {})).toEqual([]);
  for (const name of ["toolset", "syncBudgetMs", "probeTimeoutMs"]) expect(options).not.toHaveProperty(name);
});

it("what a command wishes goes beside what the config says", async () => {
  const config = { agents: {}, subAgents: { agents: [], options: { responseMode: "compact" as const } } };
  await createConfiguredHost(
    { config, file: "/x/c.json", folder: "/x" },
    { policy: { inputRequired: "return" } },
  );
  expect(vi.mocked(createHost).mock.lastCall?.[0]).toMatchObject({
    policy: { responseMode: "compact", inputRequired: "return" },
  });
});

it("an agent's driver is the one that it names", async () => {
  const options = await optionsOf({
    agents: { one: { driver: "claude" }, two: { driver: "codex", sandbox: "workspace-write" } },
  });
  const names = Object.values(options?.agents ?? {}).map(({ driver }) => driver.describe().name);
  expect(names).toEqual(["claude", "codex"]);
});

it("each driver that a config can name reaches the host", async () => {
  const agents = {
    claude: { driver: "claude" },
    codex: { driver: "codex" },
    gemini: { driver: "gemini", environment: ["MY_*"] },
    opencode: { driver: "opencode" },
    cursor: { driver: "cursor" },
    acp: { driver: "acp", command: "my-agent", args: ["--acp"], environment: ["MY_KEY"] },
  } as const;
  const made = (await optionsOf({ agents } as unknown as Config))?.agents ?? {};
  const described = Object.entries(made).map(([key, { driver }]) => [key, driver.describe()] as const);
  expect(described.map(([key, { name }]) => [key, name])).toEqual(
    Object.keys(agents).map((key) => [key, key]),
  );
  expect(made.gemini?.driver.describe().environment).toContain("MY_*");
  expect(made.acp?.driver.describe().environment).toEqual(["MY_KEY"]);
});
