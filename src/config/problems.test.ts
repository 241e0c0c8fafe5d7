import { expect, it } from "vitest";
import { problemsOf, problemText } from "./problems.js";
import { configSchema } from "./schema.js";

const AGENTS = { claude: { driver: "claude" } };
const remote = (more: object = {}) => ({
  agents: AGENTS,
  subAgents: {
    agents: [{ name: "research", agentCardUrl: "https://a.example/.well-known/agent-card.json", ...more }],
  },
});

function problemOf(config: unknown): string {
  const { error } = configSchema.safeParse(config);
  if (error === undefined) throw new Error("was accepted");
  return problemsOf(error, config, configSchema)
    .map((problem) => `  ${problemText(problem)}`)
    .join("\n");
}

it("never a secret that stands in the file itself", () => {
  const told = [
    remote({ auth: "s3cret-token" }),
    remote({ auth: { mode: "s3cret-token" } }),
    remote({ auth: { mode: "oauth2", tokenUrl: "s3cret-token", clientSecret: 1 } }),
    remote({ agentCardUrl: "ftp://me:s3cret-token@a.example/" }),
    remote({ agentCardUrl: "a.example?key=s3cret-token" }),
    remote({ url: "https://x.example", agentCardUrl: undefined, headers: ["s3cret-token"] }),
    { agents: { x: { driver: "acp", command: "y", args: { token: "s3cret-token" } } } },
    { agents: AGENTS, journal: "reddis://:s3cret-token@127.0.0.1" },
    { agents: AGENTS, a2a: { auth: { mode: "bearer", tokens: "s3cret-token" } } },
  ];
  for (const config of told) expect(problemOf(config)).not.toContain("s3cret-token");
});

it.each([
  [
    "a typo in a key",
    { agents: AGENTS, subagents: {} },
    '(top): there is no key "subagents"; did you mean "subAgents"?',
  ],
  [
    "a key that is nothing like one",
    { agents: AGENTS, serve: { colour: 1 } },
    'serve: there is no key "colour"; allowed are hostname, port, publicUrl',
  ],
  [
    "a key of another way to authenticate",
    remote({ auth: { mode: "bearer", token: "x", headername: "y" } }),
    'subAgents.agents.0.auth: there is no key "headername"; allowed are mode, token',
  ],
  [
    "a typo in a value",
    { agents: { x: { driver: "cluade" } } },
    'agents.x.driver: must be one of "claude", "codex", "gemini", "opencode", "cursor", "acp"; did you mean "claude"? (it is "cluade")',
  ],
  ["no driver", { agents: { x: {} } }, 'agents.x.driver: is missing; must be one of "claude"'],
  [
    "a wrong kind",
    { agents: AGENTS, serve: { port: "4100" } },
    'serve.port: must be a number, and is a text (it is "4100")',
  ],
  [
    "a number that is too large",
    { agents: AGENTS, serve: { port: 70_000 } },
    "serve.port: must be at most 65535 (it is 70000)",
  ],
  [
    "a number that is too small",
    { agents: AGENTS, serve: { port: -1 } },
    "serve.port: must be at least 0 (it is -1)",
  ],
  ["a list in place of an object", [], "(top): must be an object, and is a list"],
  [
    "a typo in a way to authenticate",
    remote({ auth: { mode: "baerer", token: "x" } }),
    'subAgents.agents.0.auth.mode: must be one of "none", "bearer", "api_key", "oauth2"; did you mean "bearer"?',
  ],
  [
    "a part of one of several shapes",
    { agents: { x: { driver: "claude", a2a: { descripton: "y" } } } },
    'agents.x.a2a: there is no key "descripton"; did you mean "description"?',
  ],
  [
    "none of several shapes",
    { agents: { x: { driver: "claude", a2a: 3 } } },
    "agents.x.a2a: must be true or false or an object (it is 3)",
  ],
  [
    "a local agent that is not there",
    { agents: AGENTS, subAgents: { agents: [{ name: "c", agent: "cluade" }] } },
    'subAgents.agents.0.agent: is none of the config\'s agents; these are "claude"; did you mean "claude"? (it is "cluade")',
  ],
  [
    "a key with a slash",
    { agents: { "a/b": { driver: "claude" } } },
    "agents.a/b: cannot be a key here: it must be letters, digits",
  ],
])("%s", (_what, config, expected) => expect(problemOf(config)).toContain(`  ${expected}`));
