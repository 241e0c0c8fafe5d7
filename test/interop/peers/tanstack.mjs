// TanStack AI's chat() as an AG-UI server.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import {
  chat,
  chatParamsFromRequestBody,
  mergeAgentTools,
  toolDefinition,
  toServerSentEventsResponse,
} from "@tanstack/ai";
import { openaiCompatibleText } from "@tanstack/ai-openai/compatible";
import { z } from "zod";

const add = toolDefinition({
  name: "add",
  description: "adds two numbers",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.object({ sum: z.number() }),
}).server(async ({ a, b }) => ({ sum: a + b }));
const danger = toolDefinition({
  name: "danger",
  description: "needs approval",
  inputSchema: z.object({ x: z.number() }),
  needsApproval: true,
}).server(async ({ x }) => ({ done: x }));

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const abortController = new AbortController();
  response.on("close", () => abortController.abort());
  const params = await chatParamsFromRequestBody(JSON.parse(Buffer.concat(chunks)));
  const adapter = openaiCompatibleText("scripted", {
    name: "scripted",
    baseURL: `${process.env.MODEL}/v1`,
    apiKey: "none",
    api: "chat-completions",
  });
  const tools = mergeAgentTools([add, danger], params.tools);
  const out = toServerSentEventsResponse(chat({ adapter, ...params, tools, abortController }), {
    abortController,
  });
  response.writeHead(out.status, Object.fromEntries(out.headers));
  Readable.fromWeb(out.body)
    .on("error", () => response.destroy())
    .pipe(response);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/agent`));
process.stdin.on("end", () => process.exit()).resume();
