import { describe, expect, it } from "vitest";
import { ServiceBench } from "../../../test/support/service-bench.js";
import type { DelegationPolicy } from "../../delegation/policy.js";

const TASKS = "io.modelcontextprotocol/tasks";
const declared = { capabilities: { extensions: { [TASKS]: {} }, elicitation: { form: {} } } };
const meta = { "claudecode/toolUseId": "toolu_1" };

/** A call that became a task. */
async function begin(policy: Partial<DelegationPolicy> = {}) {
  const service = await ServiceBench.open(policy, { elicitation: true });
  const calling = service.raw("tools/call", service.call("Find out"), { ...declared, meta });
  await service.started();
  await service.bench.clock.advance(0);
  const { result } = await calling;
  const get = async (taskId = "del-1") => service.raw("tasks/get", { taskId }, declared);
  return { service, result, get };
}

describe("the tasks extension", () => {
  it("is declared to modern clients", async () => {
    const service = await ServiceBench.open();
    const { result } = await service.raw("server/discover");
    expect(result?.capabilities).toMatchObject({ extensions: { [TASKS]: {} } });
  });

  it("a client that declares it gets a task at once, looks after it, and gets the whole result", async () => {
    const { service, result, get } = await begin();
    const started = new Date(service.bench.clock.now()).toISOString();
    expect(result).toMatchObject({
      resultType: "task",
      taskId: "del-1",
      status: "working",
      createdAt: started,
      lastUpdatedAt: started,
      ttlMs: 86_400_000,
      pollIntervalMs: 1_000,
    });
    expect(result).not.toHaveProperty("result");
    await service.bench.clock.advance(60_000);
    service.bench.task.send({ type: "status", status: "searching" });
    await service.bench.clock.advance(0);
    const working = await get();
    expect(working.result).toMatchObject({
      resultType: "complete",
      status: "working",
      statusMessage: "research: searching",
      createdAt: started,
      lastUpdatedAt: new Date(service.bench.clock.now()).toISOString(),
    });
    expect(working.result).not.toHaveProperty("result");
    await service.completes("Found.");
    const done = await get();
    expect(done.result).toMatchObject({
      status: "completed",
      result: {
        isError: false,
        structuredContent: { status: "completed", delegation_id: "del-1", summary: "Found." },
        _meta: { "troupe/delegationId": "del-1" },
      },
    });
    const answer = done.result?.result as { content: { text: string }[]; structuredContent: unknown };
    expect(JSON.parse(answer.content[0]?.text ?? "")).toEqual(answer.structuredContent);
    // It stays what it is for whoever asks again, as a session does that is resumed.
    await service.bench.clock.advance(600_000);
    expect((await get()).result).toEqual(done.result);
  });

  it("the same call again is the same task, also when it is over", async () => {
    const { service } = await begin();
    const again = () => service.raw("tools/call", service.call("Find out"), { ...declared, meta });
    const second = again();
    await service.bench.clock.advance(0);
    expect((await second).result).toMatchObject({ resultType: "task", taskId: "del-1" });
    await service.completes();
    const third = again();
    await service.bench.clock.advance(0);
    expect((await third).result).toMatchObject({
      resultType: "complete",
      structuredContent: { status: "completed" },
    });
    expect(service.bench.remote.tasks).toHaveLength(1);
  });

  it("a delegation that failed is a completed task with an error; SEP-2663 keeps `failed` for the protocol's", async () => {
    const { service, get } = await begin();
    service.bench.task.send({ type: "failed", message: "No sources." });
    await service.bench.clock.advance(0);
    expect((await get()).result).toMatchObject({
      status: "completed",
      statusMessage: "No sources.",
      result: { isError: true, structuredContent: { status: "failed", error: { code: "remote_failed" } } },
    });
  });

  it("a call that starts nothing is answered, not made a task", async () => {
    const service = await ServiceBench.open();
    const { result } = await service.raw(
      "tools/call",
      { name: "delegate_to_agent", arguments: { agent: "nobody", objective: "x" } },
      declared,
    );
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { error: { code: "agent_not_found" } },
    });
  });

  it("tasks/cancel stops the remote's task, and may come twice", async () => {
    const { service, get } = await begin();
    service.bench.task.send({ type: "accepted", taskId: "task-1" });
    await service.bench.clock.advance(0);
    for (let time = 0; time < 2; time++)
      expect((await service.raw("tasks/cancel", { taskId: "del-1" }, declared)).result).toMatchObject({
        resultType: "complete",
      });
    await service.bench.clock.advance(0);
    expect((await get()).result).toMatchObject({ status: "cancelled" });
    expect((await get()).result).not.toHaveProperty("result");
    expect(service.bench.remote.cancels).toHaveLength(1);
    expect(service.bench.terminal).toMatchObject({ type: "subagent.cancelled" });
  });

  it("a question is the task's: a form, an answer by tasks/update, and it goes on", async () => {
    const { service, get } = await begin();
    await service.asks("Which city?");
    const asking = await get();
    const [key = ""] = Object.keys(asking.result?.inputRequests ?? {});
    expect(asking.result).toMatchObject({
      status: "input_required",
      statusMessage: "research asks: Which city?",
      inputRequests: {
        [key]: { method: "elicitation/create", params: { mode: "form", message: "Which city?" } },
      },
    });
    // Looking again is no new round.
    for (let look = 0; look < 20; look++) expect((await get()).result?.status).toBe("input_required");
    const update = (answer: unknown) =>
      service.raw("tasks/update", { taskId: "del-1", inputResponses: { [key]: answer } }, declared);
    expect((await update({ action: "accept", content: { answer: "Rome" } })).result).toBeDefined();
    expect((await get()).result).toMatchObject({ status: "working", statusMessage: "research: working" });
    // A second answer finds nothing that is asked.
    await update({ action: "accept", content: { answer: "Oslo" } });
    await service.completes();
    expect([(await get()).result?.status, service.answers]).toEqual(["completed", [{ text: "Rome" }]]);
  });

  it("by policy `return` the model gets the question as the task's result", async () => {
    const { service, get } = await begin({ inputRequired: "return" });
    await service.asks("Which city?");
    expect((await get()).result).toMatchObject({
      status: "completed",
      result: { isError: false, structuredContent: { status: "needs_input" } },
    });
  });

  it("without elicitation a question is told and left to others", async () => {
    const service = await ServiceBench.open();
    const calling = service.raw("tools/call", service.call("Find out"), { ...declared, meta });
    await service.started();
    await calling;
    await service.asks("Which city?");
    const { result } = await service.raw("tasks/get", { taskId: "del-1" }, declared);
    expect(result).toMatchObject({ status: "working", statusMessage: "research asks: Which city?" });
    expect(result).not.toHaveProperty("inputRequests");
  });

  it("a task of nobody, or of another run, is refused without a hint", async () => {
    const { service } = await begin();
    const other = await service.bench.call("x", {
      run: service.bench.delegator.openRun({ runId: "run-2", thread: "/u" }),
    });
    const theirs = service.bench.delegator.list({ runId: "run-2", thread: "/u" })[0]?.identity.delegationId;
    expect(theirs).toBeDefined();
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"])
      for (const taskId of ["del-99", String(theirs)])
        expect((await service.raw(method, { taskId }, declared)).error).toMatchObject({
          code: -32602,
          message: "This run has no such task, or no longer.",
        });
    expect(service.bench.remote.cancels).toEqual([]);
    void other;
  });

  it("a client that does not declare it is answered as ever", async () => {
    const service = await ServiceBench.open();
    const calling = service.raw("tools/call", service.call("Find out"), { meta });
    await service.started();
    await service.completes();
    expect((await calling).result).toMatchObject({
      resultType: "complete",
      structuredContent: { status: "completed" },
    });
  });
});
