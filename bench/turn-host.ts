// A Troupe host in its own process whose agents are the scripted Claude Code and the scripted Codex, to measure what a turn costs
// around the program. No sub-agents: the program gets no MCP server.
import { claude } from "../dist/claude.js";
import { codex } from "../dist/codex.js";
import { createAgent, createHost } from "../dist/index.js";
import { scriptedClaude, scriptedCodex } from "../dist/testing/index.js";

const env = { TROUPE_SCRIPT_JSON: process.argv[2] ?? "" };
const host = await createHost({
  agents: {
    claude: createAgent(claude({ executable: scriptedClaude() }), { env }),
    codex: createAgent(codex({ executable: scriptedCodex() }), { env }),
  },
});
const { url } = await host.listen({ port: 0 });
process.send?.({ url });
process.on("disconnect", () => process.exit());
