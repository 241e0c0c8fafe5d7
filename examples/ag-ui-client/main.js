// Serves a page that knows nothing but AG-UI's own client, and a host below /troupe.
// Scripted peers stand in for Claude Code and the remote; for real ones use `claude()` and your agent's card.
import { fileURLToPath } from "node:url";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createAgent, createHost } from "troupe";
import { a2a } from "troupe/a2a";
import { claude } from "troupe/claude";
import { scriptedClaude, startScriptedAgent } from "troupe/testing";
import { build } from "vite";

const research = await startScriptedAgent({ name: "Research Agent", paceMs: 20 });
const host = await createHost({
  agents: { claude: createAgent(claude({ executable: scriptedClaude() })) },
  subAgents: [a2a({ name: "research", agentCardUrl: research.cardUrl })],
});

const root = fileURLToPath(new URL(".", import.meta.url));
const { output } = await build({ root, configFile: false, logLevel: "warn", build: { write: false } });

const app = new Hono();
app.mount("/troupe", host.fetch);
for (const { fileName, code, source } of output) {
  const type = fileName.endsWith(".js") ? "text/javascript" : "text/html; charset=utf-8";
  const path = fileName === "index.html" ? "/" : `/${fileName}`;
  app.get(path, (context) => context.body(code ?? source, 200, { "content-type": type }));
}
const server = serve(
  { fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env.PORT ?? 0) },
  ({ port }) => console.log(`Open http://127.0.0.1:${port}/`),
);
const stop = async () => {
  server.close();
  await host.close();
  await research.close();
  server.closeAllConnections();
};
process.once("SIGINT", stop);
process.once("SIGTERM", stop);
