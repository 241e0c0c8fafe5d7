import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import { startScriptedAgent } from "../../src/testing/a2a/start.js";
import type { Script } from "../../src/testing/claude/script.js";
import { collect, customValue, subagentFrames, subagentText } from "../support/frames.js";
import { verify } from "../support/verify.js";
import { rpc, startFaceHost } from "./face-host.js";

/** It hands on whatever it is told, and repeats what came of it. */
const DELEGATES: Script = {
  turns: [
    [
      { tools: [{ name: "delegate_to_agent", input: { agent: "research", objective: "{{prompt}}" } }] },
      { say: "Answered: {{result.0.summary}}", when: "ok" },
      { say: "Refused: {{result.0.error.code}}", when: "error" },
    ],
  ],
};

const step = (index: number) => ({ agent: `host-x/agent-${index}`, delegationId: `del-${index}` });

function sending(lineage: readonly object[], messageId = "m-1") {
  return {
    message: {
      messageId,
      role: "ROLE_USER",
      parts: [{ text: "Go on." }],
      metadata: { troupe: { lineage }, tenant: "forged" },
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

describe("a task that comes from a chain of agents", () => {
  it("two hosts whose agents call each other end with a refusal, not in a loop", async () => {
    const port = await freePort();
    const first = `http://127.0.0.1:${port}`;
    const cardOf = (url: string) => `${url}/a2a/claude/.well-known/agent-card.json`;
    await using second = await startFaceHost(DELEGATES, {
      host: { subAgents: [a2a({ name: "research", agentCardUrl: cardOf(first) })] },
    });
    await using caller = await startFaceHost(DELEGATES, {
      host: { subAgents: [a2a({ name: "research", agentCardUrl: second.cardUrl })] },
    });
    await caller.host.listen({ port });
    const frames = await collect(
      await fetch(`${first}/agents/claude/run`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          threadId: "t",
          runId: "r",
          messages: [{ id: "m", role: "user", content: "Round and round" }],
        }),
      }),
    );
    await verify(frames);
    expect(subagentText(frames)).toBe("Refused: remote_rejected");
    const ended = customValue(subagentFrames(frames).at(-1));
    expect(ended.result).toMatchObject({ status: "completed", summary: "Refused: remote_rejected" });
    expect(frames.at(-1)?.event).toMatchObject({
      result: { status: "finished", text: "Answered: Refused: remote_rejected" },
    });
    // The agent that began was asked once more, and did nothing; the other one worked once.
    const tasksOf = async (face: typeof caller) =>
      (await (await rpc(face, "ListTasks", {})).json()).result.tasks;
    expect(await tasksOf(caller)).toMatchObject([{ status: { state: "TASK_STATE_REJECTED" } }]);
    expect(await tasksOf(second)).toMatchObject([{ status: { state: "TASK_STATE_COMPLETED" } }]);
  });

  it("a chain of more than 16 is refused, by a task that can be asked for; a message that is repeated starts no other", async () => {
    await using face = await startFaceHost(DELEGATES);
    const long = sending(Array.from({ length: 17 }, (_, index) => step(index)));
    const { task } = (await (await rpc(face, "SendMessage", long)).json()).result;
    expect(task).toMatchObject({
      status: {
        state: "TASK_STATE_REJECTED",
        message: { parts: [{ text: expect.stringContaining("too long, or goes in a circle") }] },
      },
    });
    expect(JSON.stringify(task.status)).not.toMatch(/host-|agent-1/);
    const again = (await (await rpc(face, "SendMessage", long)).json()).result.task;
    expect(again.id).toBe(task.id);
    const known = (await (await rpc(face, "GetTask", { id: task.id })).json()).result;
    expect(known.status.state).toBe("TASK_STATE_REJECTED");
    const streamed = await rpc(face, "SendStreamingMessage", { ...sending([], "m-2"), ...long });
    expect(await streamed.text()).toContain("TASK_STATE_REJECTED");
    const cancelled = await (await rpc(face, "CancelTask", { id: task.id })).json();
    expect(cancelled.error).toMatchObject({ message: "The task is over." });
  });

  it("a chain that may go on goes on: its steps and its trace reach the next agent, and nothing else of the caller's metadata", async () => {
    const remote = await startScriptedAgent({ name: "Research Agent", paceMs: 0 });
    await using _ = { [Symbol.asyncDispose]: () => remote.close() };
    await using face = await startFaceHost(DELEGATES, {
      host: {
        policy: { maxDepth: 4 },
        subAgents: [a2a({ name: "research", agentCardUrl: remote.cardUrl })],
      },
    });
    const trace = "0af7651916cd43dd8448eb211c80319c";
    const response = await rpc(face, "SendMessage", sending([step(1), step(2)]), {
      "a2a-version": "1.0",
      traceparent: `00-${trace}-b7ad6b7169203331-01`,
    });
    const { task } = (await response.json()).result;
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    const [sent] = (await remote.seen()).filter(({ params }) => "message" in (params as object));
    const { metadata } = (sent?.params as { message: { metadata: Record<string, unknown> } } | undefined)
      ?.message ?? { metadata: {} };
    expect(metadata.troupe).toMatchObject({
      lineage: [step(1), step(2), { agent: expect.stringMatching(/^host-.+\/claude$/) }],
    });
    expect(JSON.stringify(sent)).not.toContain("forged");
    expect(sent?.headers.traceparent).toMatch(
      new RegExp(`^00-${trace}-(?!b7ad6b7169203331)[0-9a-f]{16}-01$`),
    );
  });
});
