// A Mastra server; its card is at /api/.well-known/helper/agent-card.json.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { serve } from "@hono/node-server";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { MastraServer } from "@mastra/hono";
import { LibSQLStore } from "@mastra/libsql";
import { InMemoryTaskStore } from "@mastra/server/a2a/store";
import { Hono } from "hono";
import { z } from "zod";

const model = createOpenAICompatible({
  name: "scripted",
  baseURL: `${process.env.MODEL}/v1`,
  apiKey: "none",
});
const ask = createTool({
  id: "ask",
  description: "asks the person",
  inputSchema: z.object({ question: z.string() }),
  suspendSchema: z.object({ question: z.string() }),
  resumeSchema: z.object({ answer: z.string() }),
  async execute({ question }, context) {
    const own = context?.agent ?? context;
    return own?.resumeData ? { answer: own.resumeData.answer } : own.suspend({ question });
  },
});
const danger = createTool({
  id: "danger",
  description: "needs approval",
  inputSchema: z.object({ x: z.number() }),
  requireApproval: true,
  execute: async ({ x }) => ({ done: x }),
});
const helper = new Agent({
  id: "helper",
  name: "helper",
  instructions: "Be short.",
  model: model("scripted"),
  tools: { ask, danger },
});
const storage = new LibSQLStore({ id: "memory", url: ":memory:" });
const mastra = new Mastra({ agents: { helper }, storage, logger: false });
const app = new Hono();
await new MastraServer({ app, mastra, taskStore: new InMemoryTaskStore() }).init();
serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}/api/.well-known/helper/agent-card.json`),
);
process.stdin.resume().on("end", () => process.exit(0));
