import {
  A2AClient,
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "a2a-sdk-0-3/client";
import { describe, expect, it } from "vitest";
import { rpc, startFaceHost } from "./face-host.js";

const SAYS = { turns: [[{ say: "The answer to {{prompt}} is 42." }]] };
const ASKS = {
  turns: [[{ permission: { tool: "Bash", input: { command: "make" }, result: "made" } }, { say: "Made." }]],
};

const params = (text: string, more: object = {}) => ({
  message: {
    kind: "message" as const,
    messageId: crypto.randomUUID(),
    role: "user" as const,
    parts: [{ kind: "text" as const, text }],
    ...more,
  },
});

async function clientOf(cardUrl: string, transport: "JSONRPC" | "HTTP+JSON") {
  const card = await (await fetch(cardUrl)).json();
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory(), new RestTransportFactory()],
      preferredTransports: [transport],
    }),
  );
  return factory.createFromAgentCard(card);
}

describe.each(["JSONRPC", "HTTP+JSON"] as const)("the SDK's client of 0.3 over %s", (transport) => {
  it("streams, with final at the end", async () => {
    await using face = await startFaceHost(SAYS);
    const client = await clientOf(face.cardUrl, transport);
    const events = [];
    for await (const event of client.sendMessageStream(params("everything"))) events.push(event);
    expect(events[0]?.kind).toBe("task");
    expect(events.at(-1)).toMatchObject({
      kind: "status-update",
      final: true,
      status: { state: "completed" },
    });
    const text = events
      .flatMap((event) => (event.kind === "artifact-update" ? event.artifact.parts : []))
      .map((part) => (part.kind === "text" ? part.text : ""))
      .join("");
    expect(text).toBe("The answer to everything is 42.");
  });

  it("sends, gets, cancels what is over, and is told what it may not do", async () => {
    await using face = await startFaceHost(SAYS);
    const client = await clientOf(face.cardUrl, transport);
    const task = await client.sendMessage({
      ...params("x"),
      configuration: { blocking: true, acceptedOutputModes: ["text"] },
    });
    expect(task).toMatchObject({ kind: "task", status: { state: "completed" } });
    if (task.kind !== "task") throw new Error("no task");
    expect(await client.getTask({ id: task.id })).toMatchObject({
      id: task.id,
      status: { state: "completed" },
    });
    await expect(client.cancelTask({ id: task.id })).rejects.toThrow();
    await expect(client.getTask({ id: "nobody" })).rejects.toThrow();
  });

  it("answers a question", async () => {
    await using face = await startFaceHost(ASKS);
    const client = await clientOf(face.cardUrl, transport);
    const events = [];
    for await (const event of client.sendMessageStream(params("go"))) events.push(event);
    const last = events.at(-1);
    expect(last).toMatchObject({ kind: "status-update", final: true, status: { state: "input-required" } });
    if (last?.kind !== "status-update") throw new Error("no status");
    const answer = params("yes", { taskId: last.taskId, contextId: last.contextId });
    const rest = [];
    for await (const event of client.sendMessageStream(answer)) rest.push(event);
    expect(rest[0]).toMatchObject({ kind: "task", id: last.taskId, status: { state: "working" } });
    expect(rest.at(-1)).toMatchObject({ kind: "status-update", status: { state: "completed" } });
  });
});

it("case 057: clients that ask for agent.json find the same card, and A2AClient works with it", async () => {
  await using face = await startFaceHost(SAYS);
  for (const path of [
    "/.well-known/agent.json",
    "/.well-known/agent-card.json",
    "/a2a/claude/.well-known/agent.json",
  ]) {
    const card = await (await fetch(face.url + path)).json();
    expect(card).toMatchObject({ url: face.agent, protocolVersion: "0.3.0", preferredTransport: "JSONRPC" });
    expect(card.supportedInterfaces[0]).toMatchObject({ url: face.agent, protocolVersion: "1.0" });
  }
  const client = await A2AClient.fromCardUrl(face.cardUrl);
  const answer = await client.sendMessage({ ...params("x"), configuration: { blocking: true } });
  expect(answer).toMatchObject({ result: { kind: "task", status: { state: "completed" } } });
});

it("a request without a version is one of 0.3, and a method of 1.0 says what it needs", async () => {
  await using face = await startFaceHost(SAYS);
  expect(await (await rpc(face, "tasks/get", { id: "nobody" }, {})).json()).toMatchObject({
    error: { code: -32001 },
  });
  expect(await (await rpc(face, "GetTask", { id: "nobody" }, {})).json()).toMatchObject({
    error: { code: -32601, message: expect.stringContaining("A2A-Version: 1.0") },
  });
});
