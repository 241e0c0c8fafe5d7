// A2A remote that costs next to nothing: it streams numbered deltas, each with the time it was sent, as fast or as slowly as the
// task's text says (`{"deltas":N,"paceMs":M}`). The SDK's own server grows quadratically with the number of events and would hide
// everything else.
import { createServer } from "node:http";
import { setTimeout as wait } from "node:timers/promises";

const now = () => performance.timeOrigin + performance.now();
let tasks = 0;

const server = createServer(async (request, response) => {
  if (request.method === "GET") {
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify(card(`http://${request.headers.host}`)));
  }
  let body = "";
  for await (const chunk of request) body += chunk;
  const { id, method, params } = JSON.parse(body);
  if (method !== "SendStreamingMessage") {
    response.setHeader("content-type", "application/json");
    return response.end(
      JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }),
    );
  }
  const { deltas = 1, paceMs = 0 } = JSON.parse(params.message.parts[0].text);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const taskId = `task-${++tasks}`;
  const contextId = `context-${tasks}`;
  const send = (result: unknown) =>
    response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
  const artifact = (text: string, append: boolean) => ({
    artifactUpdate: {
      taskId,
      contextId,
      append,
      lastChunk: false,
      artifact: { artifactId: "assistant-output", name: "assistant-output", parts: [{ text }] },
    },
  });
  send({ task: { id: taskId, contextId, status: { state: "TASK_STATE_WORKING" } } });
  for (let index = 0; index < deltas; index++) {
    const flowing = send(artifact(`${now().toFixed(3)}|`, index > 0));
    if (paceMs > 0) await wait(paceMs);
    else if (!flowing) await new Promise((resolve) => response.once("drain", resolve));
  }
  send({ statusUpdate: { taskId, contextId, status: { state: "TASK_STATE_COMPLETED" } } });
  response.end();
});

function card(url: string) {
  return {
    name: "Bench",
    description: "Streams deltas.",
    version: "1",
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "stream", name: "Stream", description: "Streams.", tags: [] }],
  };
}

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null)
    process.send?.({ url: `http://127.0.0.1:${address.port}` });
});
process.on("disconnect", () => process.exit());
