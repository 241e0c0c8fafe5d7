// TanStack AI's chat client on a host: node chat.js PROMPT        HOST chooses the host
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";

const host = process.env.HOST ?? "http://127.0.0.1:4100";
const prompt = process.argv.slice(2).join(" ") || "Compare three message queues";

const client = new ChatClient({
  // The client sends no version of AG-UI, so the host tells subagents as CUSTOM events: its list of messages stays the parent's.
  // When the connection drops, it sends the same request again with `Last-Event-ID`, and the host goes on after that event.
  connection: fetchServerSentEvents(`${host}/agents/claude/run`),
  onCustomEvent(name, value) {
    if (name === "subagent.started") process.stdout.write(`  ┌ ${value.agentName}\n  │ `);
    if (name === "subagent.text.delta") process.stdout.write(value.delta.replaceAll("\n", "\n  │ "));
    if (name === "subagent.artifact") process.stdout.write(`\n  │ [${value.artifact.name}]\n  │ `);
    if (name === "subagent.finished")
      process.stdout.write(`\n  └ the model got ${value.sizes.model} bytes\n`);
    if (name === "subagent.failed") process.stdout.write(`\n  └ ${value.error.message}\n`);
  },
  onError(error) {
    console.error(error.message);
    process.exitCode = 1;
  },
});
await client.sendMessage(prompt);
for (const { role, parts } of client.getMessages())
  if (role === "assistant") for (const part of parts) if (part.type === "text") console.log(part.content);
