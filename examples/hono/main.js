// A host inside a Hono app. Hono speaks Web standards, so there is nothing in between.
// Scripted peers stand in for Claude Code and the remote; for real ones use `claude()` and your agent's card.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createAgent, createHost } from "troupe";
import { a2a } from "troupe/a2a";
import { claude } from "troupe/claude";
import { scriptedClaude, startScriptedAgent } from "troupe/testing";

const research = await startScriptedAgent({ name: "Research Agent" });
const host = await createHost({
  agents: { claude: createAgent(claude({ executable: scriptedClaude() })) },
  subAgents: [a2a({ name: "research", agentCardUrl: research.cardUrl })],
});

const app = new Hono();
app.mount("/troupe", host.fetch);
app.get("/", (context) => context.redirect("/troupe/"));

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
