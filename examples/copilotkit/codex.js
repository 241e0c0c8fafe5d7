// Codex as an A2A agent: a host of its own, in a process of its own.
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
process.send?.({ cardUrl: `${url}/a2a/codex/.well-known/agent-card.json` });

const stop = async () => {
  await host.close();
  process.exit();
};
for (const end of ["disconnect", "SIGINT", "SIGTERM"]) process.once(end, stop);
