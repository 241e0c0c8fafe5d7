// A host inside an Express app: below a path of its own, behind the app's own login, one tenant a user.
// Scripted peers stand in for Claude Code and the remote; for real ones use `claude()` and your agent's card.
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { createAgent, createHost } from "troupe";
import { a2a } from "troupe/a2a";
import { claude } from "troupe/claude";
import { scriptedClaude, startScriptedAgent } from "troupe/testing";

/** Stands for the app's sessions: who a request's cookie belongs to. */
const userOf = (cookie) => /(?:^|; )user=(\w+)/.exec(cookie ?? "")?.[1];

const research = await startScriptedAgent({ name: "Research Agent" });
const host = await createHost({
  agents: { claude: createAgent(claude({ executable: scriptedClaude() })) },
  subAgents: [a2a({ name: "research", agentCardUrl: research.cardUrl })],
  // What belongs to one user does not exist for another.
  authorise: (request) => {
    const tenant = userOf(request.headers.get("cookie"));
    return tenant === undefined ? undefined : { tenant };
  },
});

const app = express();
// Before any parser of bodies: the host reads them itself.
app.use("/troupe", getRequestListener(host.fetch));
app.get("/login/:user", (request, response) => {
  response.cookie("user", request.params.user, { httpOnly: true, sameSite: "strict" }).redirect("/troupe/");
});
app.get("/", (_request, response) => {
  response.send('<a href="/login/ada">Ada</a> or <a href="/login/bob">Bob</a>?');
});

const server = app.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  console.log(`Open http://127.0.0.1:${server.address().port}/`);
});
const stop = async () => {
  server.close();
  await host.close();
  await research.close();
  server.closeAllConnections();
};
process.once("SIGINT", stop);
process.once("SIGTERM", stop);
