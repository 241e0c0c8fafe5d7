// A program that starts a host, closes it and has nothing else to do: it has to end by itself.

import { a2a } from "../../dist/a2a.js";
import { claude } from "../../dist/claude.js";
import { createAgent, createHost } from "../../dist/index.js";
import { scriptedClaude } from "../../dist/testing/index.js";

const [scene, cardUrl] = process.argv.slice(2);
const host = await createHost({
  agents: { claude: createAgent(claude({ executable: scriptedClaude() })) },
  subAgents: [
    a2a({
      name: "research",
      agentCardUrl: scene === "unreachable" ? "http://127.0.0.1:1/agent-card.json" : cardUrl,
    }),
  ],
  policy: { cancelTimeoutMs: 100 },
});
await host.probe();
const { url } = await host.listen({ port: 0 });
const told = scene === "running" || scene === "stubborn" ? await closeInMidRun() : {};
await host.close();
console.log(JSON.stringify({ closed: true, ...told }));

/** Closes the host when its run's remote works without end, and reads what the run's watcher still gets. */
async function closeInMidRun() {
  const content = scene === "running" ? "#say Busy.\n#hang" : "#say Busy.\n#stubborn";
  const response = await fetch(`${url}/agents/claude/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId: "t", runId: "r", messages: [{ id: "m", role: "user", content }] }),
  });
  let text = "";
  let closing;
  const { run } = await fetch(`${url}/runs/r`).then(async (answer) => ({ run: await answer.json() }));
  try {
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (closing === undefined && text.includes("subagent.text.delta")) closing = host.close();
    }
  } catch {
    // The host may end the connection.
  }
  await closing;
  const last = text.split("\n").findLast((line) => line.startsWith("data:"));
  const event = JSON.parse(last.slice(5));
  return { was: run.status, status: event.result?.status, last: event };
}
