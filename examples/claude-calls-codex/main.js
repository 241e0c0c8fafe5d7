// Claude Code calls Codex. Codex is an A2A agent of another process; you see it work under Claude's call, and Claude's model gets the
// small result alone.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createAgent, createHost } from "troupe";
import { a2a } from "troupe/a2a";
import { claude } from "troupe/claude";
import { scriptedClaude } from "troupe/testing";
import { CLAUDE_SCRIPT } from "./scripts.js";

const scripted = process.argv.includes("--scripted");
const words = process.argv.slice(2).filter((word) => word !== "--scripted");
const prompt = words.join(" ") || "Ask Codex to write a file greeting.txt that says hello.";

const other = fork(new URL("./codex.js", import.meta.url), scripted ? ["--scripted"] : [], {
  stdio: "inherit",
});
const [{ cardUrl }] = await once(other, "message");

const agent = createAgent(claude(scripted ? { executable: scriptedClaude() } : {}), {
  ...(scripted && { env: { TROUPE_SCRIPT_JSON: JSON.stringify(CLAUDE_SCRIPT) } }),
});
const host = await createHost({
  agents: { claude: agent },
  subAgents: [a2a({ name: "codex", agentCardUrl: cardUrl })],
});
const { url } = await host.listen({ port: Number(process.env.PORT ?? 0) });
console.log(`Watch it in a browser, and answer what is asked: ${url}/#thread=example\n`);

const { entries, run } = host.run("claude", prompt, { threadId: "example" });
for await (const { event } of entries) {
  if (event.type === "text.delta" || event.type === "subagent.text.delta") process.stdout.write(event.delta);
  if (event.type === "text.end") process.stdout.write("\n");
  if (event.type === "subagent.started") process.stdout.write(`  ┌ ${event.agentName}`);
  if (event.type === "subagent.text.start") process.stdout.write("\n  │ ");
  if (event.type === "subagent.tool.start") process.stdout.write(`\n  │ [${event.name}] `);
  if (event.type === "subagent.tool.args") process.stdout.write(event.delta);
  if (event.type === "subagent.input_required") process.stdout.write(`\n  │ Codex asks: ${event.prompt}`);
  if (event.type === "approval.requested") console.log(`Claude Code asks: ${event.approval.title}`);
  if (event.type === "subagent.finished")
    console.log(`\n  └ you saw ${event.sizes.seen} bytes, Claude's model got ${event.sizes.model}`);
}
const { status, reason } = await run.result.then(
  () => ({ status: 0 }),
  (error) => ({ status: 1, reason: error.message }),
);
if (reason !== undefined) console.error(reason);
await host.close();
other.disconnect();
process.exitCode = status;
