// A Strands agent behind its own AG-UI endpoint.
import { StrandsAgent } from "@ag-ui/aws-strands";
import { createStrandsApp } from "@ag-ui/aws-strands/server";
import { Agent, tool } from "@strands-agents/sdk";
import { OpenAIModel } from "@strands-agents/sdk/models/openai";
import { z } from "zod";

const add = tool({
  name: "add",
  description: "adds two numbers",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  callback: async ({ a, b }) => ({ sum: a + b }),
});
const model = new OpenAIModel({
  modelId: "scripted",
  api: "chat",
  apiKey: "none",
  clientConfig: { baseURL: `${process.env.MODEL}/v1`, maxRetries: 0 },
});
const agent = new Agent({ model, tools: [add], printer: false });
const app = await createStrandsApp(new StrandsAgent({ agent, name: "helper", description: "helps" }), {
  path: "/agent",
});
const server = app.listen(0, "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${server.address().port}/agent`),
);
process.stdin.on("end", () => process.exit()).resume();
