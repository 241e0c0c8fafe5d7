import { describe, expect, it, vi } from "vitest";
import { say } from "../support/fake-agent.js";
import { allOf, FaceBench, userMessage, wireText } from "./face-bench.js";

const JSON_TYPE = { "content-type": "application/json", "a2a-version": "1.0" };

describe("JSON-RPC (A2A 1.0, 9)", () => {
  it.each([
    ["no JSON", "{", -32700, null],
    [
      "an integer that would be rounded",
      '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"x":9007199254740993}}',
      -32700,
      null,
    ],
    ["a batch", "[]", -32600, null],
    ["another JSON-RPC", { jsonrpc: "1.0", id: 5, method: "GetTask" }, -32600, 5],
    ["no method", { jsonrpc: "2.0", id: "five" }, -32600, "five"],
    ["an id that is none", { jsonrpc: "2.0", id: {}, method: "GetTask" }, -32600, null],
    ["an unknown method", { jsonrpc: "2.0", id: 5, method: "Fly", params: {} }, -32601, 5],
    [
      "a method of 0.3 in a request of 1.0",
      { jsonrpc: "2.0", id: 5, method: "tasks/get", params: {} },
      -32601,
      5,
    ],
    ["params that are none", { jsonrpc: "2.0", id: 5, method: "GetTask", params: [] }, -32602, 5],
  ])("%s", async (_name, body, code, id) => {
    await using bench = await FaceBench.start();
    const answer = await bench.post("", body);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ jsonrpc: "2.0", id, error: { code } });
  });

  it("refuses other types, invalid UTF-8, and bodies beyond 8 MiB", async () => {
    await using bench = await FaceBench.start();
    const typed = await bench.post("", "{}", { "content-type": "text/plain" });
    expect([typed.status, (await typed.json()).error.code]).toEqual([400, -32005]);
    const invalid = await bench.fetch("", {
      method: "POST",
      headers: JSON_TYPE,
      body: new Uint8Array([0x22, 0xff, 0x22]),
    });
    expect([invalid.status, (await invalid.json()).error.code]).toEqual([400, -32700]);
    const large = await bench.post("", "x".repeat(9 * 1_048_576));
    expect([large.status, (await large.json()).error.code]).toEqual([413, -32700]);
    const picky = await bench.post("", "{}", { accept: "image/png" });
    expect(picky.status).toBe(406);
  });

  it("errors carry their reason (9.5)", async () => {
    await using bench = await FaceBench.start();
    const { error } = await bench.ask("GetTask", { id: "nobody" });
    expect(error.data).toEqual([
      expect.objectContaining({ reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" }),
    ]);
  });
});

describe("versions (A2A 1.0, 3.6)", () => {
  it.each([
    [{ "a2a-version": "1.0" }, "", -32001],
    [{ "a2a-version": "1.0.1" }, "", -32001],
    [{ "a2a-version": "" }, "?A2A-Version=1.0", -32601],
    [{ "a2a-version": "0.3" }, "", -32601],
    [{ "a2a-version": "2.0" }, "", -32009],
    [{ "a2a-version": "latest" }, "", -32009],
  ])("%j%s", async (headers, query, code) => {
    await using bench = await FaceBench.start();
    const body = { jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "nobody" } };
    expect((await (await bench.post(query, body, headers)).json()).error.code).toBe(code);
  });

  it("the query names it where there is no header", async () => {
    await using bench = await FaceBench.start();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "nobody" } });
    const headers = { "content-type": "application/json" };
    const answer = await bench.fetch("?A2A-Version=1.0.1", { method: "POST", headers, body });
    expect((await answer.json()).error.code).toBe(-32001);
  });
});

describe("REST (A2A 1.0, 11)", () => {
  it("sends, gets, lists, cancels and subscribes", async () => {
    await using bench = await FaceBench.start();
    const sent = await bench.post("/message:send", {
      message: userMessage("Hi"),
      configuration: { returnImmediately: true },
    });
    expect(sent.headers.get("content-type")).toBe("application/a2a+json");
    const { task } = await sent.json();
    const get = async (path: string) =>
      (await bench.fetch(path, { headers: { "a2a-version": "1.0" } })).json();
    await vi.waitFor(() => expect(bench.runs).toHaveLength(1));
    say(bench.run.sink, "Hello.");
    await bench.clock.advance(0);
    expect(wireText((await get(`/tasks/${task.id}`)).artifacts)).toBe("Hello.");
    expect(await get("/tasks?pageSize=1")).toMatchObject({
      totalSize: 1,
      nextPageToken: "",
      tasks: [{ id: task.id }],
    });
    const stream = bench
      .fetch(`/tasks/${task.id}:subscribe`, { headers: { "a2a-version": "1.0" } })
      .then(allOf);
    await bench.clock.advance(0);
    const cancelled = await (await bench.post(`/tasks/${task.id}:cancel`, "", {})).json();
    expect(cancelled.status.state).toBe("TASK_STATE_CANCELED");
    expect((await stream).at(-1).statusUpdate.status.state).toBe("TASK_STATE_CANCELED");
  });

  it.each([
    ["POST", "/message:send", {}, 400, "INVALID_ARGUMENT"],
    ["POST", "/message:send", { message: { parts: [null] } }, 400, "INVALID_ARGUMENT"],
    ["GET", "/tasks/nobody", undefined, 404, "NOT_FOUND"],
    ["POST", "/tasks/nobody:cancel", {}, 404, "NOT_FOUND"],
    ["GET", "/tasks?pageSize=x", undefined, 400, "INVALID_ARGUMENT"],
    ["GET", "/tasks/t/pushNotificationConfigs", undefined, 400, "FAILED_PRECONDITION"],
    ["GET", "/extendedAgentCard", undefined, 400, "FAILED_PRECONDITION"],
  ])("%s %s is %i", async (method, path, body, status, name) => {
    await using bench = await FaceBench.start();
    const answer = await bench.fetch(path, {
      method,
      headers: JSON_TYPE,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { code: status, status: name } });
  });

  it("keeps the tenants of a caller apart, by path and by parameter", async () => {
    await using bench = await FaceBench.start();
    const sent = await bench.post("/acme/message:send", {
      message: userMessage("Hi"),
      configuration: { returnImmediately: true },
    });
    const { id } = (await sent.json()).task;
    const status = async (path: string) => (await bench.fetch(path, { headers: JSON_TYPE })).status;
    expect(await status(`/acme/tasks/${id}`)).toBe(200);
    expect(await status(`/tasks/${id}`)).toBe(404);
    expect(await status(`/other/tasks/${id}`)).toBe(404);
    expect((await bench.ask("GetTask", { id, tenant: "acme" })).result.id).toBe(id);
    expect((await bench.ask("GetTask", { id })).error.code).toBe(-32001);
  });

  it("what is no operation is not found", async () => {
    await using bench = await FaceBench.start();
    for (const path of ["/message:fly", "/tasks/a/b/c", "/a/b/tasks", "/%ff/tasks"]) {
      expect((await bench.fetch(path, { headers: JSON_TYPE })).status, path).toBe(404);
    }
    expect((await bench.fetch("http://127.0.0.1:4100/a2a/nobody/tasks", { headers: JSON_TYPE })).status).toBe(
      404,
    );
  });
});

describe("a stream", () => {
  it("gets a comment after four seconds of silence: clients in Python leave after five", async () => {
    await using bench = await FaceBench.start();
    const response = await bench.call("SendStreamingMessage", { message: userMessage("Hi") });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const read = async () => {
      text += (await reader?.read())?.value ?? "";
    };
    while (!text.includes("TASK_STATE_WORKING")) await read();
    const silence = read();
    await bench.clock.advance(3_999);
    expect(text).not.toContain(": hb");
    await bench.clock.advance(1);
    await silence;
    expect(text).toMatch(/: hb\n\n$/);
    await reader?.cancel();
  });

  it("is pulled: who does not read holds nobody back, and loses nothing", async () => {
    await using bench = await FaceBench.start();
    const response = await bench.call("SendStreamingMessage", { message: userMessage("Hi") });
    await vi.waitFor(() => expect(bench.runs).toHaveLength(1));
    const { sink } = bench.run;
    const words = Array.from({ length: 5_000 }, (_, index) => `${index} `);
    sink.emit({ type: "text.start", messageId: "m" });
    for (const delta of words) sink.emit({ type: "text.delta", messageId: "m", delta });
    bench.run.finish();
    await bench.clock.advance(0);
    const events = await allOf(response);
    expect(wireText(events)).toBe(words.join(""));
    // Far behind, it got deltas of one text together.
    expect(events.length).toBeLessThan(words.length);
  });
});

describe("agent cards", () => {
  it("are one for both versions, with what caches need", async () => {
    await using bench = await FaceBench.start({ a2a: { publicUrl: "https://agents.example.com/" } });
    const first = await bench.fetch("/.well-known/agent-card.json");
    const etag = first.headers.get("etag") ?? "";
    expect(first.headers.get("vary")).toContain("A2A-Version");
    expect(first.headers.get("cache-control")).toContain("max-age=");
    expect(await first.json()).toMatchObject({
      name: "Helper",
      url: "https://agents.example.com/a2a/helper",
      capabilities: { streaming: true },
    });
    const again = await bench.fetch("/.well-known/agent-card.json", {
      headers: { "if-none-match": `"x", W/${etag}` },
    });
    expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, etag, ""]);
  });

  it("stand at the root for one agent only", async () => {
    await using bench = await FaceBench.start();
    expect((await bench.fetch("http://127.0.0.1:4100/.well-known/agent-card.json")).status).toBe(200);
    await using none = await FaceBench.start({ a2a: { agents: {} } });
    expect((await none.fetch("http://127.0.0.1:4100/.well-known/agent-card.json")).status).toBe(404);
  });

  it("announce traces where there are any", async () => {
    await using bench = await FaceBench.start({
      a2a: { agents: { helper: { exposure: { tools: "names" } } } },
    });
    const card = await (await bench.fetch("/.well-known/agent-card.json")).json();
    expect(card.capabilities.extensions).toEqual([expect.objectContaining({ uri: "urn:x-a2a:trace:v1" })]);
  });
});
