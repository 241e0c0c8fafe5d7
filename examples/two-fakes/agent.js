// A fake A2A agent: it has skills, asks no model, and says which of its skills was asked for what.
// node agent.js NAME SKILL…        PORT chooses the port
import { AgentCard, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express from "express";

const [name, ...skills] = process.argv.slice(2);

const executor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    // Which skill is meant stands in the message's metadata; what it is to do, in its text.
    const skill = userMessage.metadata?.skillId ?? "none";
    const asked = userMessage.parts
      .map(({ content }) => (content?.$case === "text" ? content.value : ""))
      .join("");
    const about = { taskId, contextId };
    const working = { state: "TASK_STATE_WORKING" };
    bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: working })));
    const text = `${name}/${skill} was asked: ${asked}`;
    const artifact = { artifactId: "answer", name: "answer", parts: [{ text }] };
    bus.publish(
      AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON({ ...about, artifact, lastChunk: true })),
    );
    const status = { state: "TASK_STATE_COMPLETED" };
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ ...about, status })));
    bus.finished();
  },
  async cancelTask() {},
};

const app = express();
const server = app.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const card = AgentCard.fromJSON({
    name: `Fake ${name} agent`,
    description: `Says what its skills are asked: ${skills.join(", ")}`,
    version: "1.0.0",
    supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: skills.map((id) => ({ id, name: id, description: `The ${id} skill.`, tags: [name] })),
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  app.get("/.well-known/agent-card.json", (_request, response) => response.json(AgentCard.toJSON(card)));
  app.use("/a2a", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  console.log(`${name} at ${url}`);
  process.send?.({ url });
});
process.on("disconnect", () => process.exit());
