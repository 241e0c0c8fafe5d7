// One of several hosts on one Redis: nothing but its storage makes it that.
import { createAgent, createHost } from "troupe";
import { a2a } from "troupe/a2a";
import { claude } from "troupe/claude";
import { createRedisStorage } from "troupe/redis";
import { scriptedClaude } from "troupe/testing";

const [url = "", agentCardUrl = ""] = process.argv.slice(2);
const scripted = process.argv.includes("--scripted");
const { threads, ...storage } = await createRedisStorage({ url, prefix: "two-hosts", leaseMs: 2_000 });
const host = await createHost({
  agents: {
    claude: createAgent(claude(scripted ? { executable: scriptedClaude() } : {}), { threads }),
  },
  subAgents: [a2a({ name: "research", agentCardUrl })],
  // What a host that dies leaves open is gone on with, and not cancelled.
  policy: { onRunEnd: "detach" },
  takeoverMs: 1_000,
  ...storage,
});
const { url: address } = await host.listen({ port: 0 });
process.send?.({ port: Number(new URL(address).port) });

const stop = async () => {
  await host.drain(10_000);
  await host.close();
  process.exit();
};
process.on("SIGTERM", stop);
process.on("disconnect", stop);
