import { expect, test } from "vitest";
import { configSchema } from "./schema.js";
import { protocolOf, subAgentSchema } from "./sub-agent-schema.js";

const card = { name: "a", agentCardUrl: "https://a.example/card.json" };
const agui = { name: "b", url: "https://b.example/run" };
const local = { name: "c", agent: "claude" };

test.each([
  [card, "a2a"],
  [{ ...card, protocol: "a2a" }, "a2a"],
  [agui, "agui"],
  [{ ...agui, protocol: "agui", resume: "repost", headers: { "x-a": "b" } }, "agui"],
  [{ ...local, description: "Codes." }, "local"],
])("%j is an agent of its protocol", (entry, protocol) => {
  expect(protocolOf(subAgentSchema.parse(entry))).toBe(protocol);
});

const problems = (entry: object) =>
  subAgentSchema.safeParse(entry).error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);

test.each<[object, string]>([
  [{ name: "x" }, 'agentCardUrl: is missing; agents that speak AG-UI have a "url" instead'],
  [{ name: "x", protocol: "agui" }, 'url: is missing for protocol "agui"'],
  [{ name: "x", protocol: "local" }, 'agent: is missing for protocol "local"'],
  [{ name: "x", protocol: "soap" }, 'protocol: must be "a2a", "agui" or "local"'],
  [
    { ...agui, protocol: "agui", agentCardUrl: card.agentCardUrl },
    'agentCardUrl: has no meaning for protocol "agui"',
  ],
  [{ ...card, resume: "repost" }, 'resume: has no meaning for protocol "a2a"'],
  [{ ...agui, signature: "off" }, 'signature: has no meaning for protocol "agui"'],
  [{ ...card, signature: "required" }, 'signatureKeys: are needed with signature "required"'],
  [{ ...local, auth: { mode: "none" } }, 'auth: has no meaning for protocol "local"'],
  [{ ...agui, url: "ftp://x" }, "url: must be a URL that begins with http"],
])("%j is refused, and says where and why", (entry, expected) => {
  expect(problems(entry)?.join("\n")).toContain(expected);
});

test("a local one must be among the config's agents", () => {
  const config = (agent: string) =>
    configSchema.safeParse({
      agents: { claude: { driver: "claude" } },
      subAgents: { agents: [{ name: "c", agent }] },
    });
  expect(config("claude").success).toBe(true);
  expect(config("claud").error?.issues[0]).toMatchObject({
    path: ["subAgents", "agents", 0, "agent"],
    message: 'is none of the config\'s agents; these are "claude"; did you mean "claude"?',
  });
});
