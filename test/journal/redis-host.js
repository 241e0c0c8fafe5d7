// A host whose journal is in Redis, until it is killed. Arguments: the server's URL, the card of a remote agent, and more options of
// the host as JSON, with the script of its agent under "script".
import { a2a } from "../../dist/a2a.js";
import { claude } from "../../dist/claude.js";
import { createAgent, createHost } from "../../dist/index.js";
import { createRedisStorage } from "../../dist/redis.js";
import { scriptedClaude } from "../../dist/testing/index.js";

const [url, agentCardUrl = "", more = "{}"] = process.argv.slice(2);
const { script, leaseMs = 600, outageMs = 30_000, ...options } = JSON.parse(more);
const { threads, ...storage } = await createRedisStorage({ url: url ?? "", leaseMs, outageMs });
const agent = createAgent(claude({ executable: scriptedClaude(), graceMs: 1_000 }), {
  threads,
  ...(script === undefined ? {} : { env: { TROUPE_SCRIPT_JSON: JSON.stringify(script) } }),
});
const host = await createHost({
  agents: { claude: agent },
  subAgents: [a2a({ name: "research", agentCardUrl, endpointUrlOverride: agentCardUrl })],
  ...storage,
  ...options,
});
await host.probe();
console.log((await host.listen({ port: 0 })).url);
