// An A2A 0.3 agent built on that version's own SDK, in a process of its own. It does what the scripted agent does, for one port.
import { DefaultRequestHandler, InMemoryTaskStore } from "a2a-sdk-0-3/server";
import { jsonRpcHandler, UserBuilder } from "a2a-sdk-0-3/server/express";
import express from "express";
import { parseScript } from "../../../dist/testing/a2a/script.js";

// What a library says on its own would be taken for an answer.
console.log = console.debug = console.info = () => undefined;

const streaming = !process.argv.includes("--no-streaming");
const pace = Number(process.env.TROUPE_PACE_MS ?? 2);
const seen = [];
const responses = new Map();
const running = new Map();
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const said = (text) => ({
  kind: "message",
  role: "agent",
  messageId: crypto.randomUUID(),
  parts: [{ kind: "text", text }],
});

const executor = {
  async execute({ taskId, contextId, userMessage, task }, bus) {
    const text = userMessage.parts
      .map((part) => (part.kind === "text" ? part.text : JSON.stringify(part.data)))
      .join("\n");
    const { steps } = task
      ? {
          steps: [
            { do: "say", text: `You answered: ${text}` },
            { do: "end", state: "completed", text: "Done." },
          ],
        }
      : parseScript(text);
    if (steps[0].do === "message") {
      bus.publish({ ...said(steps[0].text), contextId });
      return bus.finished();
    }
    const status = (state, words, final = false) =>
      bus.publish({
        kind: "status-update",
        taskId,
        contextId,
        final,
        status: { state, ...(words === undefined ? {} : { message: said(words) }) },
      });
    const known = new Set(task?.artifacts?.map(({ artifactId }) => artifactId));
    const artifact = (artifactId, name, part, lastChunk) => {
      const append = known.has(artifactId);
      known.add(artifactId);
      bus.publish({
        kind: "artifact-update",
        taskId,
        contextId,
        append,
        lastChunk,
        artifact: { artifactId, name, parts: [part] },
      });
    };
    // A follow-up begins with a status, without the task: allowed in this version.
    if (task) status("working");
    else
      bus.publish({
        kind: "task",
        id: taskId,
        contextId,
        status: { state: "submitted" },
        history: [userMessage],
      });
    running.set(taskId, true);
    let files = 0;
    for (const step of steps) {
      await sleep(pace);
      if (!running.has(taskId)) return;
      switch (step.do) {
        case "status":
          status("working", step.text);
          break;
        case "say":
          artifact(step.message ?? "assistant-output", "assistant-output", { kind: "text", text: step.text });
          break;
        case "artifact": {
          const id = `file-${++files}`;
          for (let offset = 0; offset === 0 || offset < step.bytes.length; offset += 65_536) {
            const bytes = Buffer.from(step.bytes.subarray(offset, offset + 65_536)).toString("base64");
            const file = { bytes, mimeType: step.mediaType, name: step.name };
            artifact(id, step.name, { kind: "file", file }, offset + 65_536 >= step.bytes.length);
          }
          break;
        }
        case "wait":
          await sleep(step.milliseconds);
          break;
        case "drop":
          responses.get(userMessage.messageId)?.socket?.destroy();
          break;
        case "endstream":
          responses.get(userMessage.messageId)?.end();
          break;
        case "hang":
          status("working", "Working without end");
          return;
        case "input":
          status("input-required", step.text, true);
          return bus.finished();
        case "end":
          status(step.state, step.text, true);
          running.delete(taskId);
          return bus.finished();
      }
    }
  },
  async cancelTask(taskId, bus) {
    running.delete(taskId);
    bus.publish({
      kind: "status-update",
      taskId,
      contextId: "",
      final: true,
      status: { state: "canceled", message: said("Stopped.") },
    });
    bus.finished();
  },
};

const app = express();
const server = app.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const card = {
    name: "Research",
    description: "Speaks version 0.3.",
    protocolVersion: "0.3.0",
    version: "1.0.0",
    url: `${url}/rpc`,
    preferredTransport: "JSONRPC",
    capabilities: { streaming },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  app.get("/__seen", (_request, response) => response.json(seen));
  app.get("/.well-known/agent-card.json", (_request, response) => response.json(card));
  app.use(express.json({ limit: "8mb" }));
  app.use("/rpc", (request, response, next) => {
    const { method, params } = request.body;
    seen.push({ method, params });
    response.on("error", () => undefined);
    if (params?.message?.messageId) responses.set(params.message.messageId, response);
    next();
  });
  app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  process.stdout.write(`${JSON.stringify({ url, card: `${url}/.well-known/agent-card.json` })}\n`);
});

// It ends with its parent.
process.stdin.resume().on("end", () => process.exit(0));
