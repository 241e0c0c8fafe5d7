// The same agent on the A2A SDK's own server: its default request handler and its store in memory.
import { setImmediate as turn } from "node:timers/promises";
import { AgentCard, TaskState } from "@a2a-js/sdk";
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express from "express";

const executor: AgentExecutor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const content = userMessage.parts[0]?.content;
    const count = Number(content?.$case === "text" ? content.value : 0);
    const status = (state: TaskState) => ({ state, message: undefined, timestamp: new Date().toISOString() });
    const shared = { taskId, contextId, metadata: undefined };
    const working = status(TaskState.TASK_STATE_WORKING);
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: working,
        artifacts: [],
        history: [],
        metadata: undefined,
      }),
    );
    for (let index = 0; index < count; index++) {
      const part = {
        content: { $case: "text" as const, value: `word ${index} ` },
        metadata: undefined,
        filename: "",
        mediaType: "",
      };
      const artifact = {
        artifactId: "a",
        name: "a",
        description: "",
        parts: [part],
        metadata: undefined,
        extensions: [],
      };
      bus.publish(AgentEvent.artifactUpdate({ ...shared, artifact, append: index > 0, lastChunk: false }));
      if (index % 10 === 9) await turn();
    }
    bus.publish(AgentEvent.statusUpdate({ ...shared, status: status(TaskState.TASK_STATE_COMPLETED) }));
    bus.finished();
  },
  async cancelTask() {},
};

const card = AgentCard.fromJSON({
  name: "Speaker",
  description: "Speaks.",
  version: "1",
  supportedInterfaces: [{ url: "http://127.0.0.1", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  capabilities: { streaming: true },
  defaultInputModes: ["text"],
  defaultOutputModes: ["text"],
  skills: [],
});
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
const app = express();
app.use(jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
const server = app.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null)
    process.send?.({ url: `http://127.0.0.1:${address.port}` });
});
process.on("disconnect", () => process.exit());
