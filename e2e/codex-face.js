// A host of its own whose `codex` is the real Codex, shown to A2A clients. Started by real-codex-face.ts, which tells it how.
import { once } from "node:events";
import process from "node:process";
import { codex } from "../dist/codex.js";
import { createAgent, createHost } from "../dist/index.js";

process.on("disconnect", () => process.exit(1));
process.send?.({ type: "ready" });
const [{ driver, env, workspace, token, permissions }] = await once(process, "message");

const host = await createHost({
  agents: { codex: createAgent(codex(driver), { workspace, env, permissions }) },
  a2a: {
    agents: {
      codex: {
        name: "Codex",
        description: "Writes and reviews code",
        exposure: { tools: "full", files: true, reasoning: true },
      },
    },
    auth: { mode: "bearer", tokens: { caller: token } },
  },
});
const { url } = await host.listen({ port: 0 });
process.send?.({ type: "listening", url });

await once(process, "message");
await host.close();
process.disconnect();
