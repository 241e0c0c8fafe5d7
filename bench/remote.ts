// A2A remote that costs next to nothing: it streams numbered deltas, each with the time it was sent, as fast or as slowly as the
// task's text says (`{"deltas":N,"paceMs":M}`). The SDK's own server grows quadratically with the number of events and would hide
// everything else.
import { createServer, type ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";

const now = () => performance.timeOrigin + performance.now();
let tasks = 0;
/** Cancels that arrived, and what ends the task. */
const cancels: { readonly taskId: string; readonly at: number }[] = [];
const running = new Map<string, () => void>();

const server = createServer(async (request, response) => {
  if (request.method === "GET") {
    response.setHeader("content-type", "application/json");
    if (request.url === "/cancels") return response.end(JSON.stringify(cancels));
    return response.end(JSON.stringify(card(`http://${request.headers.host}`)));
  }
  let body = "";
  for await (const chunk of request) body += chunk;
  const { id, method, params } = JSON.parse(body);
  if (method === "CancelTask") {
    cancels.push({ taskId: params.id, at: now() });
    running.get(params.id)?.();
    response.setHeader("content-type", "application/json");
    const result = { id: params.id, contextId: "", status: { state: "TASK_STATE_CANCELED" } };
    return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  }
  if (method === "message/send") return sendBlocking(id, params, response);
  if (method !== "SendStreamingMessage") {
    response.setHeader("content-type", "application/json");
    return response.end(
      JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }),
    );
  }
  const { deltas = 1, paceMs = 0, hang = false } = JSON.parse(params.message.parts[0].text);
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
  if (hang) {
    await new Promise<void>((resolve) => {
      running.set(taskId, resolve);
      response.once("close", resolve);
    });
    running.delete(taskId);
    if (response.destroyed) return;
    send({ statusUpdate: { taskId, contextId, status: { state: "TASK_STATE_CANCELED" } } });
  } else send({ statusUpdate: { taskId, contextId, status: { state: "TASK_STATE_COMPLETED" } } });
  response.end();
});

/** A2A 0.3, for peers that speak nothing newer: one answer when all is done. */
async function sendBlocking(
  id: unknown,
  params: { message: { parts: { text: string }[] } },
  response: ServerResponse,
) {
  const { deltas = 1, paceMs = 0 } = JSON.parse(taskIn(params.message.parts[0]?.text ?? "{}"));
  let text = "";
  for (let index = 0; index < deltas; index++) {
    text += `${now().toFixed(3)}|`;
    if (paceMs > 0) await wait(paceMs);
  }
  const artifacts = [{ artifactId: "a", name: "assistant-output", parts: [{ kind: "text", text }] }];
  const result = {
    kind: "task",
    id: `task-${++tasks}`,
    contextId: "c",
    status: { state: "completed" },
    artifacts,
  };
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

/** The task, wherever it stands in what a peer makes of its arguments. */
function taskIn(text: string): string {
  return /\{[^{}]*"deltas"[^{}]*\}/.exec(text.replaceAll("\\", ""))?.[0] ?? text;
}

function card(url: string) {
  return {
    url,
    protocolVersion: "0.3.0",
    preferredTransport: "JSONRPC",
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
