// A Troupe host in its own process: the scripted Claude Code delegates its prompt to the remote. A second agent, `caller`, makes
// tool calls one after the other or side by side, to measure a delegation without a model's process around it.

import { a2a } from "../dist/a2a.js";
import { claude } from "../dist/claude.js";
import { createAgent, createHost } from "../dist/index.js";
import { scriptedClaude } from "../dist/testing/index.js";
import { caller } from "./caller.js";

const remote = process.argv[2] ?? "";
const script = {
  turns: [[{ tools: [{ name: "delegate_to_agent", input: { agent: "remote", objective: "{{prompt}}" } }] }]],
};

const host = await createHost({
  agents: {
    claude: createAgent(claude({ executable: scriptedClaude() }), {
      env: { TROUPE_SCRIPT_JSON: JSON.stringify(script) },
    }),
    caller: createAgent(caller()),
  },
  subAgents: [a2a({ name: "remote", agentCardUrl: remote })],
  policy: { maxConcurrentPerRun: 1_000, maxConcurrentPerHost: 1_000 },
});
await host.probe();
const { url } = await host.listen({ port: 0 });
process.send?.({ url });
process.on("message", () => {
  global.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ memory: heapUsed + external });
});
process.on("disconnect", () => process.exit());
