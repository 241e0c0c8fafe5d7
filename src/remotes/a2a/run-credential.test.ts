import { expect, test } from "vitest";
import { startScriptedAgent } from "../../testing/a2a/start.js";
import { a2a } from "./a2a.js";

test("case 068: it is asked for each call of a task by run and tenant, the cancel and a later look included", async () => {
  const asked: unknown[] = [];
  const agent = await startScriptedAgent({ name: "Research Agent", paceMs: 0 });
  const research = a2a({
    name: "research",
    agentCardUrl: agent.cardUrl,
    credential: (context) => {
      asked.push(context);
      return { "X-User": `jwt-of-${context.tenant ?? "nobody"}` };
    },
  });
  try {
    const run = { runId: "run-1", tenant: "acme" };
    const signal = new AbortController().signal;
    const stream = research
      .start(
        { delegationId: "d-1", messageId: "m-1", run, text: "#hang", artifacts: [], metadata: {} },
        signal,
      )
      [Symbol.asyncIterator]();
    const first = await stream.next();
    if (first.value?.type !== "accepted") throw new Error("not accepted");
    const reference = { taskId: first.value.taskId ?? "", run };
    await research.cancel(reference, { delegationId: "d-1", reason: "r" }, signal);
    await research.look(reference, signal);
    await stream.return?.();
    expect(asked.filter((context) => typeof context === "object")).toEqual([
      { agent: "research", delegationId: "d-1", ...run },
      { agent: "research", delegationId: "d-1", ...run },
      { agent: "research", ...run },
    ]);
    const users = (await agent.seen()).map(({ headers }) => headers["x-user"]);
    expect(new Set(users)).toEqual(new Set(["jwt-of-acme"]));
  } finally {
    await research.close();
    await agent.close();
  }
});
