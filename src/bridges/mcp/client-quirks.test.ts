import { describe, expect, it } from "vitest";
import { settle } from "../../../test/support/deferred.js";
import { ServiceBench } from "../../../test/support/service-bench.js";

const ERAS = ["modern", "legacy"] as const;
const result = (id: string, seconds = 0) => ({
  name: "task_result",
  arguments: { delegation_id: id, ...(seconds === 0 ? {} : { wait_seconds: seconds }) },
});

describe.each(ERAS)("a %s client with a limit of its own", (era) => {
  it("cases 005, 019, 022: 60 s, no progress token: it is answered before, with a handle that brings the whole result once", async () => {
    const service = await ServiceBench.open({}, { syncBudgetMs: 55_000 });
    const client = await service.connect(era);
    const calling = client.callTool(service.call());
    await service.started();
    await service.bench.clock.advance(54_999);
    let answered = false;
    void calling.then(() => {
      answered = true;
    });
    await settle(20);
    expect(answered).toBe(false);
    await service.bench.clock.advance(1);
    expect(await calling).toMatchObject({
      structuredContent: { status: "working", delegation_id: "del-1", agent: "research" },
    });
    const waiting = client.callTool(result("del-1", 50));
    await service.bench.clock.advance(49_000);
    await service.completes("Found.");
    const whole = await waiting;
    expect(whole).toMatchObject({ structuredContent: { status: "completed", summary: "Found." } });
    expect(await client.callTool(result("del-1"))).toEqual(whole);
    expect(service.bench.remote.tasks).toHaveLength(1);
  });

  it("cases 003, 007: gives up; the result comes late, is recorded, and is there by id", async () => {
    const service = await ServiceBench.open();
    const client = await service.connect(era);
    const abort = new AbortController();
    const calling = client.callTool(service.call("Find out", "toolu_1"), { signal: abort.signal });
    await service.started();
    abort.abort(new Error("Request timed out"));
    await expect(calling).rejects.toThrow();
    await service.bench.clock.advance(20_000);
    expect(service.bench.terminal).toBeUndefined();
    await service.completes("Found.");
    expect(service.bench.terminal).toMatchObject({ type: "subagent.finished" });
    const other = await service.connect(era);
    expect(await other.callTool(result("del-1"))).toMatchObject({
      structuredContent: { status: "completed", summary: "Found." },
    });
    // Who still knows the call's id gets it as well.
    expect(await other.callTool(service.call("Find out", "toolu_1"))).toMatchObject({
      structuredContent: { delegation_id: "del-1", summary: "Found." },
    });
    expect(service.bench.remote.tasks).toHaveLength(1);
  });

  it("waits for a result and gives up: that does not stop the delegation", async () => {
    const service = await ServiceBench.open({}, { syncBudgetMs: 1_000 });
    const client = await service.connect(era);
    const calling = client.callTool(service.call());
    await service.started();
    await service.bench.clock.advance(1_000);
    await calling;
    const abort = new AbortController();
    const waiting = client.callTool(result("del-1", 600), { signal: abort.signal });
    await settle(20);
    abort.abort("escape");
    await expect(waiting).rejects.toThrow();
    await service.bench.clock.advance(0);
    expect([service.bench.terminal, service.bench.remote.cancels]).toEqual([undefined, []]);
  });
});

describe("a legacy client", () => {
  const call = (service: ServiceBench, id: number, meta: Record<string, unknown> = {}) => ({
    id,
    method: "tools/call",
    params: { ...service.call(), _meta: meta },
  });
  const cancelled = (requestId: number, reason: string) => ({
    method: "notifications/cancelled",
    params: { requestId, reason },
  });

  it("a cancel for a call that was answered `working` is a stray one: the delegation goes on", async () => {
    const service = await ServiceBench.open({}, { syncBudgetMs: 1_000 });
    const session = await service.session();
    const response = await session.send(call(service, 1));
    await service.started();
    await service.bench.clock.advance(1_000);
    expect(await response.text()).toContain('"status\\":\\"working');
    expect((await session.send(cancelled(1, "AbortError: remote-cancel"))).status).toBe(202);
    await service.bench.clock.advance(20_000);
    expect([service.bench.terminal, service.bench.remote.cancels]).toEqual([undefined, []]);
  });

  it("a timeout that is told as a cancel is none; a cancel is one", async () => {
    const service = await ServiceBench.open();
    const session = await service.session();
    void session.send(call(service, 1));
    await service.started();
    await session.send(cancelled(1, "SdkError: Request timed out"));
    await service.bench.clock.advance(0);
    expect(service.bench.remote.cancels).toEqual([]);
    await session.send(call(service, 2));
    await service.started(2);
    service.bench.task.send({ type: "accepted", taskId: "task-2" });
    await service.bench.clock.advance(0);
    await session.send(cancelled(2, "MCP request cancelled by caller"));
    await service.bench.clock.advance(0);
    expect(service.bench.remote.cancels).toMatchObject([{ delegationId: "del-3" }]);
  });

  it("a call that is sent again after its session was lost joins, and both hear the end", async () => {
    const service = await ServiceBench.open();
    const meta = { callId: "call-1" };
    const first = await (await service.session()).send(call(service, 1, meta));
    await service.started();
    const second = await (await service.session()).send(call(service, 1, meta));
    await service.completes("Found.");
    for (const response of [first, second]) expect(await response.text()).toContain("Found.");
    expect(service.bench.remote.tasks).toHaveLength(1);
  });

  it("cases 024, 028: one that never says that it is gone: the run's end stops the remote's task", async () => {
    const service = await ServiceBench.open();
    const session = await service.session();
    const response = await session.send(call(service, 1));
    await service.started();
    service.bench.task.send({ type: "accepted", taskId: "task-1" });
    await service.bench.clock.advance(0);
    const detaching = service.attachment.detach("failed");
    await service.bench.clock.advance(0);
    await detaching;
    expect(await response.text()).toContain('"isError":true');
    expect(service.bench.remote.cancels).toHaveLength(1);
    expect(service.bench.left).toEqual({ timers: 0, permits: 0 });
  });

  it("one that never ends its session: it is gone half an hour after its last request", async () => {
    const service = await ServiceBench.open({ maxTimeoutMs: 7_200_000, idleTimeoutMs: 7_200_000 });
    const [idle, used] = [await service.session(), await service.session()];
    const ping = async (session: typeof idle, id: number) => {
      const response = await session.send({ id, method: "ping" });
      await response.text();
      return response.status;
    };
    await service.bench.clock.advance(1_799_999);
    expect(await ping(used, 1)).toBe(200);
    await service.bench.clock.advance(1);
    // Any request of the run looks for what is unused.
    expect(await ping(used, 2)).toBe(200);
    expect(await ping(idle, 3)).toBe(404);
    // One with an open call is used, however long it takes.
    const open = await used.send(call(service, 4));
    await service.started();
    await service.bench.clock.advance(3_600_000);
    await service.session();
    expect(await ping(used, 5)).toBe(200);
    await service.completes("Found.");
    expect(await open.text()).toContain("Found.");
  });
});

describe.each(ERAS)("sizes, %s", (era) => {
  it.each([3_000, 64_000, 1_000_000])(
    "case 017: a task of %i characters reaches the remote whole",
    async (length) => {
      const service = await ServiceBench.open();
      const client = await service.connect(era);
      const objective = "ä\u2028".repeat(length / 2);
      const calling = client.callTool(service.call(objective));
      await service.started();
      expect(service.bench.task.task.text).toBe(objective);
      await service.completes();
      expect(await calling).toMatchObject({ structuredContent: { status: "completed" } });
    },
  );

  it("cases 091, 093, 095: of 5 MB the model gets what fits, what matters most first, and never twice", async () => {
    const service = await ServiceBench.open();
    const client = await service.connect(era);
    const calling = client.callTool(service.call());
    await service.started();
    service.bench.task.send({ type: "accepted", taskId: "task-1" });
    const piece = "Ergebnis 😀 \u0001".repeat(4_000);
    for (let sent = 0; sent < 5_000_000; sent += Buffer.byteLength(piece))
      service.bench.task.send({ type: "text", messageId: "m", delta: piece });
    await service.completes();
    const answer = await calling;
    const [content] = answer.content as { text: string }[];
    expect(Buffer.byteLength(content?.text ?? "")).toBeLessThanOrEqual(8_192);
    expect(JSON.parse(content?.text ?? "")).toEqual(answer.structuredContent);
    expect(answer.content).toHaveLength(1);
    // Programs cut from the end.
    expect(content?.text).toMatch(
      /^\{"delegation_id":"del-1","agent":"research","status":"completed","summary":"Erg/,
    );
    expect(answer.structuredContent).toMatchObject({ truncated: true, remote_task_id: "task-1" });
  });
});
