// Codex as an A2A agent: a host of its own that shows it to others, with its words, commands and file changes.
import { createAgent, createHost } from "troupe";
import { codex } from "troupe/codex";
import { scriptedCodex } from "troupe/testing";
import { CODEX_SCRIPT } from "./scripts.js";

const scripted = process.argv.includes("--scripted");
const agent = createAgent(
  codex({ sandbox: "workspace-write", ...(scripted && { executable: scriptedCodex() }) }),
  {
    workspace: process.env.CODEX_WORKSPACE ?? ".",
    ...(scripted && { env: { TROUPE_SCRIPT_JSON: JSON.stringify(CODEX_SCRIPT) } }),
  },
);
const host = await createHost({
  agents: { codex: agent },
  a2a: {
    agents: {
      codex: {
        name: "Codex",
        description: "Reads, writes and reviews code in its own workspace",
        exposure: { tools: "full", files: true },
      },
    },
  },
});
const { url } = await host.listen({ port: Number(process.env.CODEX_PORT ?? 0) });
console.log(`Codex is an A2A agent at ${url}/a2a/codex`);
process.send?.({ cardUrl: `${url}/a2a/codex/.well-known/agent-card.json` });

const stop = async () => {
  await host.close();
  process.exit();
};
process.on("disconnect", stop);
process.on("SIGTERM", stop);
