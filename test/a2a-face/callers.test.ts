import { describe, expect, it, vi } from "vitest";
import type { A2aHostOptions } from "../../src/host/a2a-host.js";
import { createHost } from "../../src/host/host.js";
import { byHeader } from "../support/app-bench.js";
import { agentOf, FINISHED, say } from "../support/fake-agent.js";
import { allOf, callsOn, eventsOf, FaceBench, userMessage } from "./face-bench.js";

const BEARER = { mode: "bearer", tokens: { ada: "token-of-ada", bob: "token-of-bob" } } as const;
const ada = { authorization: "Bearer token-of-ada" };
const bob = { authorization: "Bearer token-of-bob" };

describe("who may call", () => {
  const schemes: readonly (readonly [
    string,
    A2aHostOptions["auth"] & object,
    Record<string, string>,
    Record<string, string>,
  ])[] = [
    ["a bearer token", BEARER, ada, bob],
    [
      "an API key",
      { mode: "api_key", keys: { ada: "key-a", bob: "key-b" }, headerName: "X-Key" },
      { "x-key": "key-a" },
      { "x-key": "key-b" },
    ],
    ["what a function says", byHeader, { authorization: "tenant ada" }, { authorization: "tenant bob" }],
  ];

  it.each(schemes)("%s: nobody else, and each only what is theirs", async (_name, auth, first, second) => {
    await using bench = await FaceBench.start({ a2a: { auth } });
    for (const wrong of [
      {},
      { authorization: "Bearer nobody" },
      { authorization: "token-of-ada" },
      { "x-key": "" },
    ]) {
      const refused = await bench.call("ListTasks", {}, wrong as Record<string, string>);
      expect(refused.status).toBe(401);
      expect(refused.headers.get("www-authenticate")).toMatch(/\w/);
    }
    const { id, contextId } = await bench.send("Hello", { contextId: "shared" }, first);
    expect((await bench.ask("GetTask", { id }, first)).result.id).toBe(id);
    for (const [method, params] of callsOn(id)) {
      expect((await bench.ask(method, params, second)).error, method).toMatchObject({ code: -32001 });
    }
    expect((await bench.ask("ListTasks", {}, second)).result).toMatchObject({ tasks: [], totalSize: 0 });
    expect((await bench.ask("ListTasks", {}, first)).result).toMatchObject({ totalSize: 1 });
    // The same context id is another conversation, even while the first one works.
    const other = await bench.send("Hello", { contextId }, second);
    expect(other.id).not.toBe(id);
    expect(other.status.state).toMatch(/SUBMITTED|WORKING/);
  });

  it("cards are open and say what is needed, for both versions", async () => {
    await using bench = await FaceBench.start({ a2a: { auth: BEARER } });
    const card = await (await bench.fetch("/.well-known/agent-card.json")).json();
    expect(card).toMatchObject({
      securitySchemes: {
        bearer: { type: "http", scheme: "Bearer", httpAuthSecurityScheme: { scheme: "Bearer" } },
      },
      security: [{ bearer: [] }],
      securityRequirements: [{ schemes: { bearer: {} } }],
    });
    expect(JSON.stringify(card)).not.toContain("token-of");
  });

  it("the host's own authoriser counts where the face has none, and other routes keep it", async () => {
    const { agent } = agentOf(() => FINISHED);
    const host = await createHost({
      agents: { helper: agent },
      a2a: { agents: { helper: true }, auth: BEARER },
      authorise: byHeader,
    });
    const status = async (path: string, headers: Record<string, string>) =>
      (await host.fetch(new Request(`http://127.0.0.1:4100${path}`, { headers }))).status;
    expect(await status("/agents", ada)).toBe(401);
    expect(await status("/agents", { authorization: "tenant ada" })).toBe(200);
    expect(await status("/a2a/helper/tasks", { ...ada, "a2a-version": "1.0" })).toBe(200);
    expect(await status("/a2a/helper/tasks", { authorization: "tenant ada", "a2a-version": "1.0" })).toBe(
      401,
    );
    await host.close();
  });

  it("an empty credential is a mistake, not an open door", async () => {
    await expect(FaceBench.start({ a2a: { auth: { mode: "bearer", tokens: { ada: "" } } } })).rejects.toThrow(
      "ada",
    );
    await expect(FaceBench.start({ a2a: { agents: { nobody: true } } })).rejects.toThrow("nobody");
  });
});

describe("case 011: nobody sends a cancel, so callers that leave are noticed", () => {
  async function streaming(bench: FaceBench) {
    const response = await bench.call("SendStreamingMessage", { message: userMessage("Hello") });
    const events = eventsOf(response);
    const { task } = (await events.next()).value.result;
    await vi.waitFor(() => expect(bench.runs).toHaveLength(1));
    return { events, id: task.id as string };
  }

  it("a task whose stream was left is cancelled after the grace", async () => {
    await using bench = await FaceBench.start();
    const { events, id } = await streaming(bench);
    await events.return(undefined);
    await bench.clock.advance(29_999);
    expect(bench.run.request.signal.aborted).toBe(false);
    await bench.clock.advance(1);
    expect(bench.run.request.signal.aborted).toBe(true);
    expect((await bench.task(id)).status.state).toBe("TASK_STATE_CANCELED");
  });

  it("one that was gone before it read anything is noticed as well", async () => {
    for (const rest of [false, true]) {
      await using bench = await FaceBench.start();
      const gone = new AbortController();
      const message = userMessage("Hello");
      if (rest) await bench.post("/message:stream", { message }, {}, gone.signal);
      else await bench.call("SendStreamingMessage", { message }, {}, gone.signal);
      gone.abort();
      await vi.waitFor(() => expect(bench.runs).toHaveLength(1));
      await bench.clock.advance(30_000);
      expect(bench.run.request.signal.aborted).toBe(true);
    }
  });

  it("who subscribes or polls in time keeps it", async () => {
    await using bench = await FaceBench.start();
    const { events, id } = await streaming(bench);
    await events.return(undefined);
    await bench.clock.advance(20_000);
    await bench.task(id);
    await bench.clock.advance(20_000);
    const again = eventsOf(await bench.call("SubscribeToTask", { id }));
    await again.next();
    await bench.clock.advance(100_000);
    expect(bench.run.request.signal.aborted).toBe(false);
    await again.return(undefined);
    await bench.clock.advance(30_000);
    expect(bench.run.request.signal.aborted).toBe(true);
  });

  it("a blocking send that is given up counts as well, one that never waited does not", async () => {
    await using bench = await FaceBench.start();
    const gone = new AbortController();
    void bench.call("SendMessage", { message: userMessage("Hello") }, {}, gone.signal).catch(() => undefined);
    await vi.waitFor(() => expect(bench.runs).toHaveLength(1));
    const blocking = bench.run;
    await bench.send("Background");
    const immediate = bench.run;
    gone.abort();
    await bench.clock.advance(40_000);
    expect(blocking.request.signal.aborted).toBe(true);
    expect(immediate.request.signal.aborted).toBe(false);
  });

  it("a question holds it for as long as it is open", async () => {
    await using bench = await FaceBench.start();
    const { events } = await streaming(bench);
    void bench.run.sink.approve({ kind: "permission", title: "May I?" }, new AbortController().signal);
    for await (const _event of events);
    await bench.clock.advance(200_000);
    expect(bench.run.request.signal.aborted).toBe(false);
    // Nobody answers in five minutes: it is refused, the agent goes on, and nobody is there.
    await bench.clock.advance(100_000);
    await bench.clock.advance(30_000);
    expect(bench.run.request.signal.aborted).toBe(true);
  });

  it("`continue` lets everything go on", async () => {
    await using bench = await FaceBench.start({ host: { onDisconnect: "continue" } });
    const { events } = await streaming(bench);
    await events.return(undefined);
    await bench.clock.advance(1_000_000);
    expect(bench.run.request.signal.aborted).toBe(false);
  });
});

describe("what is remembered", () => {
  it("an ended task for its time to live, a working one for ever", async () => {
    await using bench = await FaceBench.start({ a2a: { taskTtlMs: 60_000 } });
    const message = userMessage("Hello");
    const { id } = await bench.send("", message);
    await bench.clock.advance(600_000);
    expect((await bench.task(id)).status.state).toBe("TASK_STATE_WORKING");
    bench.run.finish();
    await bench.clock.advance(60_000);
    expect((await bench.task(id)).status.state).toBe("TASK_STATE_COMPLETED");
    await bench.clock.advance(1);
    expect((await bench.ask("GetTask", { id })).error.code).toBe(-32001);
    expect((await bench.ask("ListTasks", {})).result.totalSize).toBe(0);
    expect((await bench.send("", message)).id).not.toBe(id);
  });

  it("a closing host ends its streams with the task's end", async () => {
    const bench = await FaceBench.start();
    const events = allOf(await bench.call("SendStreamingMessage", { message: userMessage("Hello") }));
    await vi.waitFor(() => expect(bench.runs).toHaveLength(1));
    say(bench.run.sink, "Wait");
    await bench.host.close();
    expect((await events).at(-1).statusUpdate.status.state).toBe("TASK_STATE_CANCELED");
  });
});
