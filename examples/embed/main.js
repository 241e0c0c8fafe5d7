// A host in your own program: one local agent, one remote, one run that is followed as it happens.
// Scripted peers stand in for Claude Code and the remote; for real ones use `claude()` and your agent's card.
import { createAgent, createHost } from "troupe";
import { a2a } from "troupe/a2a";
import { claude } from "troupe/claude";
import { scriptedClaude, startScriptedAgent } from "troupe/testing";

const research = await startScriptedAgent({ name: "Research Agent" });
const host = await createHost({
  agents: { claude: createAgent(claude({ executable: scriptedClaude() })) },
  subAgents: [a2a({ name: "research", agentCardUrl: research.cardUrl })],
});
const { url } = await host.listen({ port: Number(process.env.PORT ?? 0) });
console.log(`Watch it in a browser: ${url}/#thread=example`);

const { entries, run } = host.run("claude", "Compare three message queues", { threadId: "example" });
for await (const { event } of entries) {
  if (event.type === "subagent.text.delta") process.stdout.write(event.delta);
  if (event.type === "subagent.artifact")
    console.log(`\n[artifact ${event.artifact.name}, ${event.artifact.size} bytes]`);
  if (event.type === "subagent.finished") console.log(`\n[the model got ${event.sizes.model} bytes]`);
}
console.log((await run.result).summary);

await host.close();
await research.close();
