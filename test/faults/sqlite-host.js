// A host whose journal is a SQLite file, until it is killed. Arguments: the file, the card of a remote agent, more options of the host as
// JSON, and those of its storage.
import { a2a } from "../../dist/a2a.js";
import { claude } from "../../dist/claude.js";
import { createAgent, createHost } from "../../dist/index.js";
import { createDurableStorage } from "../../dist/sqlite.js";
import { scriptedClaude } from "../../dist/testing/index.js";

const [file, agentCardUrl = "", more = "{}", stored = "{}"] = process.argv.slice(2);
const { threads, ...storage } = await createDurableStorage({ file: file ?? "", ...JSON.parse(stored) });
const host = await createHost({
  agents: { claude: createAgent(claude({ executable: scriptedClaude(), graceMs: 1_000 }), { threads }) },
  subAgents: [a2a({ name: "research", agentCardUrl })],
  takeoverMs: 200,
  ...storage,
  ...JSON.parse(more),
});
await host.probe();
console.log((await host.listen({ port: 0 })).url);
process.once("SIGTERM", () => void host.close());
