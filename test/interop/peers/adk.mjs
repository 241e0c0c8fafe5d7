// Google's ADK as an A2A server.
import { createServer } from "node:http";
import { FunctionTool, LlmAgent, LongRunningFunctionTool } from "@google/adk";
import { toA2a } from "@google/adk/a2a";
import { z } from "zod";

const add = new FunctionTool({
  name: "add",
  description: "adds two numbers",
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => ({ sum: a + b }),
});
const ask = new LongRunningFunctionTool({
  name: "ask",
  description: "asks the person, the answer comes later",
  parameters: z.object({ question: z.string() }),
  execute: async ({ question }) => ({ status: "pending", question }),
});
const agent = new LlmAgent({
  name: "helper",
  model: "gemini-2.5-flash",
  description: "A helper.",
  instruction: "Be short.",
  tools: [add, ask],
});
// The card names the port, so it must be known before.
const port = await new Promise((resolve) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});
const app = await toA2a(agent, { port, host: "localhost", allowUnauthenticated: true });
app.listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/.well-known/agent-card.json`));
process.stdin.resume().on("end", () => process.exit(0));
