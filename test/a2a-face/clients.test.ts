import { TaskState } from "@a2a-js/sdk";
import { describe, expect, it } from "vitest";
import { all, clientOf, saidIn, sending, startFaceHost, textOf } from "./face-host.js";

const SAYS = { turns: [[{ say: "The answer to {{prompt}} is 42." }]] };

describe.each(["JSONRPC", "HTTP+JSON"] as const)("the SDK's client of 1.0 over %s", (transport) => {
  it("streams a task: the task first, its text as it comes, its outcome last", async () => {
    await using face = await startFaceHost(SAYS);
    const client = await clientOf(face, transport);
    const events = await all(client.sendMessageStream(sending("everything")));
    expect(events[0]?.payload?.$case).toBe("task");
    expect(saidIn(events)).toBe("The answer to everything is 42.");
    const last = events.at(-1)?.payload;
    expect(last).toMatchObject({
      $case: "statusUpdate",
      value: { status: { state: TaskState.TASK_STATE_COMPLETED } },
    });
    const status = last?.$case === "statusUpdate" ? last.value.status : undefined;
    expect(textOf(status?.message?.parts)).toBe("The answer to everything is 42.");
  });

  it("sends and waits", async () => {
    await using face = await startFaceHost(SAYS);
    const client = await clientOf(face, transport);
    const task = await client.sendMessage(sending("everything"));
    expect(task).toMatchObject({
      status: { state: TaskState.TASK_STATE_COMPLETED },
      artifacts: [
        { artifactId: "assistant-output", name: "assistant-output" },
        { artifactId: "agent-adaptor-result", parts: [{ content: { value: { status: "completed" } } }] },
      ],
    });
  });
});
