// A host whose journal is in Redis, until it is killed. Arguments: the server's URL, and the card of a remote agent.
import { a2a } from "../../dist/a2a.js";
import { claude } from "../../dist/claude.js";
import { createAgent, createHost } from "../../dist/index.js";
import { createRedisStorage } from "../../dist/redis.js";
import { scriptedClaude } from "../../dist/testing/index.js";

const [url, agentCardUrl = ""] = process.argv.slice(2);
const { threads, ...storage } = await createRedisStorage({ url: url ?? "", leaseMs: 600 });
const agent = createAgent(claude({ executable: scriptedClaude() }), { threads });
const host = await createHost({
  agents: { claude: agent },
  subAgents: [a2a({ name: "research", agentCardUrl })],
  ...storage,
});
await host.probe();
console.log((await host.listen({ port: 0 })).url);
