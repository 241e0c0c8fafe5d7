import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Script } from "../../src/testing/claude/script.js";
import { ask, endsOf, Fleet, get, type HostProcess, post, readThread, until } from "../support/fleet.js";
import { collect, customValue, subagentText } from "../support/frames.js";
import { noRedis } from "../support/redis-server.js";
import { verify } from "../support/verify.js";

let messages = 0;

describe.skipIf(noRedis !== undefined)(`hosts on one Redis${noRedis ? ` (${noRedis})` : ""}`, () => {
  let fleet: Fleet;
  let one: HostProcess;
  let two: HostProcess;
  beforeAll(async () => {
    fleet = await Fleet.start();
    [one, two] = await Promise.all([fleet.host(), fleet.host()]);
  });
  afterAll(() => fleet?.[Symbol.asyncDispose]());

  it("stop what runs at another one: a delegation, then its run", async () => {
    const { threadId, runId, response } = await ask(one, "#say Half of it.\n#hang");
    const { delegationId } = customValue(await until(response, "subagent.text.delta"));
    expect((await post(two, `/delegations/${delegationId}/cancel`, { reason: "enough" })).status).toBe(202);
    await expect.poll(async () => (await get(two, `/delegations/${delegationId}`)).status).toBe("cancelled");
    const frames = await readThread(two, threadId);
    expect(endsOf(frames)).toEqual(["CUSTOM(subagent.cancelled)", "RUN_FINISHED"]);
    expect(await get(one, `/runs/${runId}`)).toMatchObject({ status: "finished" });

    const again = await ask(one, "#hang");
    await until(again.response, "subagent.started");
    expect((await post(two, `/runs/${again.runId}/cancel`)).status).toBe(202);
    expect(endsOf(await readThread(two, again.threadId))).toEqual([
      "CUSTOM(subagent.cancelled)",
      "RUN_FINISHED",
    ]);
    expect((await get(two, `/runs/${again.runId}`)).status).toBe("cancelled");
    // What nobody runs any more is no matter of theirs.
    expect((await post(two, `/runs/${again.runId}/cancel`)).status).toBe(202);
  });

  it("answer what is asked at another one, once", async () => {
    const { threadId, response } = await ask(one, "#input Which?");
    const { delegationId } = customValue(await until(response, "subagent.input_required"));
    const answers = [one, two, two].map((host) =>
      post(host, `/delegations/${delegationId}/input`, { text: "this" }),
    );
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([202, 409, 409]);
    expect(subagentText(await readThread(two, threadId))).toBe("You answered: this");
  });

  it("decide what the agent at another one asks, once", async () => {
    const script: Script = {
      turns: [[{ permission: { tool: "Bash", input: { command: "ls" }, result: "ok" } }]],
    };
    await using asking = await fleet.host({ script });
    const { response, runId } = await ask(asking, "Go on");
    const { approvalId } = customValue(await until(response, "approval.requested"));
    const path = `/approvals/${approvalId}`;
    expect((await post(two, path, { decision: "approve" })).status).toBe(202);
    expect((await post(one, path, { decision: "deny" })).status).toBe(409);
    await expect.poll(async () => (await get(two, `/runs/${runId}`)).status).toBe("finished");
  });

  it("have one run at a time in a thread, and one of each id, whoever is asked", async () => {
    const before = await fleet.sent();
    const first = await ask(one, "#say Once.\n#input Go on?");
    const busy = await ask(two, "Hello", { threadId: first.threadId, runId: "another" });
    expect([busy.response.status, (await busy.response.json()).error]).toMatchObject([
      409,
      { code: "thread_busy", retryable: true },
    ]);
    const same = await ask(two, "#say Once.\n#input Go on?", first);
    expect(same.response.status).toBe(200);
    const { delegationId } = customValue(await until(same.response, "subagent.input_required"));
    await post(two, `/delegations/${delegationId}/input`, { text: "yes" });
    const frames = await readThread(one, first.threadId);
    await verify(frames);
    expect(endsOf(frames)).toEqual(["CUSTOM(subagent.finished)", "RUN_FINISHED"]);
    expect(frames.filter(({ event }) => event.type === "RUN_STARTED")).toHaveLength(1);
    // The task, and the answer.
    expect((await fleet.sent()) - before).toBe(2);
    const next = await ask(two, "#say Twice.", { threadId: first.threadId, runId: "next" });
    expect(endsOf(await collect(next.response))).toEqual(["CUSTOM(subagent.finished)", "RUN_FINISHED"]);
  });

  it("asked for the same run at once start it once", async () => {
    const ids = { threadId: "same", runId: "same" };
    const before = await fleet.sent();
    const both = await Promise.all([one, two, one, two].map((host) => ask(host, "#say Once.", ids)));
    const streams = await Promise.all(both.map(({ response }) => collect(response)));
    for (const frames of streams)
      expect(endsOf(frames)).toEqual(["CUSTOM(subagent.finished)", "RUN_FINISHED"]);
    expect((await fleet.sent()) - before).toBe(1);
  });

  it("count a reader at another one as a reader", async () => {
    await using impatient = await fleet.host({ disconnectGraceMs: 1_500 });
    await using other = await fleet.host({ disconnectGraceMs: 1_500 });
    const { threadId, runId, response } = await ask(impatient, "#say a\n#delay 4000\n#say b");
    const { id = "" } = await until(response, "subagent.text.delta");
    const rest = await fetch(`${other.url}/threads/${threadId}/events`, { headers: { "last-event-id": id } });
    const frames = await collect(rest, ({ event }) => event.type === "RUN_FINISHED");
    expect(endsOf(frames)).toEqual(["CUSTOM(subagent.finished)", "RUN_FINISHED"]);
    expect((await get(two, `/runs/${runId}`)).status).toBe("finished");
  });

  it("show a task of the A2A face at each of them: to be read, followed, answered and cancelled", async () => {
    const script: Script = {
      turns: [[{ permission: { tool: "Bash", input: { command: "ls" }, result: "ok" } }, { say: "Listed." }]],
    };
    const a2a = { agents: { claude: true } };
    await using working = await fleet.host({ script, a2a });
    await using other = await fleet.host({ a2a });
    const call = async (host: HostProcess, method: string, params: object) => {
      const response = await fetch(`${host.url}/a2a/claude`, {
        method: "POST",
        headers: { "content-type": "application/json", "a2a-version": "1.0" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      });
      return (await response.json()).result;
    };
    const message = (text: string, more: object = {}) => ({
      message: { messageId: `a2a-${text}-${++messages}`, role: "ROLE_USER", parts: [{ text }], ...more },
    });
    const { task } = await call(working, "SendMessage", message("Go on"));
    expect(task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(await call(other, "GetTask", { id: task.id })).toMatchObject({
      status: { state: "TASK_STATE_INPUT_REQUIRED" },
      history: [{ parts: [{ text: "Go on" }] }],
    });
    const answered = await call(other, "SendMessage", message("yes", { taskId: task.id }));
    expect(answered.task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(await call(working, "GetTask", { id: task.id })).toMatchObject({
      artifacts: answered.task.artifacts,
      status: { state: "TASK_STATE_COMPLETED" },
    });
    const next = await call(working, "SendMessage", message("Again"));
    const cancelled = await call(other, "CancelTask", { id: next.task.id });
    expect(cancelled.status.state).toBe("TASK_STATE_CANCELED");
  });

  it("go on with what a dead one delegated, by policy: each word once, no second task", async () => {
    const policy = { onRunEnd: "detach" };
    // Nobody else is to take it over.
    await using fleet = await Fleet.start();
    await using dying = await fleet.host({ policy });
    await using heir = await fleet.host({ policy });
    const before = await fleet.sent();
    const { threadId, response } = await ask(dying, "#say One, two.\n#delay 2500\n#say Three.");
    const { delegationId } = customValue(await until(response, "subagent.text.delta"));
    dying.child.kill("SIGKILL");
    await dying.exit;
    const done = async () => (await get(heir, `/delegations/${delegationId}`)).status;
    await expect.poll(done, { timeout: 40_000, interval: 200 }).not.toBe("working");
    const frames = await readThread(heir, threadId, 2);
    await verify(frames);
    expect(endsOf(frames)).toEqual(["RUN_ERROR", "CUSTOM(subagent.finished)", "RUN_FINISHED"]);
    expect(subagentText(frames)).toBe("One, two.Three.");
    expect((await fleet.sent()) - before).toBe(1);
  });

  it("one that was frozen beyond its lease and thaws writes nothing more, and its remote is left to the heir", async () => {
    const policy = { onRunEnd: "detach" };
    // Nobody else is to take it over.
    await using fleet = await Fleet.start();
    await using frozen = await fleet.host({ policy });
    await using heir = await fleet.host({ policy });
    const { threadId, runId, response } = await ask(frozen, "#say One, two.\n#input Go on?");
    const { delegationId } = customValue(await until(response, "subagent.input_required"));
    frozen.child.kill("SIGSTOP");
    await expect
      .poll(async () => (await get(heir, `/runs/${runId}`)).status, { timeout: 40_000, interval: 200 })
      .toBe("failed");
    frozen.child.kill("SIGCONT");
    const cancels = (await fleet.remote.cancels()).length;
    // It asks its own run to end, which is another host's by now.
    await expect.poll(async () => (await get(frozen, `/runs/${runId}`)).status).not.toBe("running");
    const answer = () => post(heir, `/delegations/${delegationId}/input`, { text: "yes" });
    await expect.poll(async () => (await answer()).status).toBe(202);
    const frames = await readThread(heir, threadId, 2);
    await verify(frames);
    expect(endsOf(frames)).toEqual(["RUN_ERROR", "CUSTOM(subagent.finished)", "RUN_FINISHED"]);
    expect(subagentText(frames)).toBe("One, two.You answered: yes");
    expect(await fleet.remote.cancels()).toHaveLength(cancels);
  });
});
