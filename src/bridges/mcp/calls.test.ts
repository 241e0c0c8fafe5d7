import { describe, expect, it } from "vitest";
import { settle } from "../../../test/support/deferred.js";
import { type Era, McpBench, TOOL } from "../../../test/support/mcp-bench.js";
import { readSse } from "../../wire/sse-reader.js";

const DONE = { structured: { status: "completed" }, isError: false };
const call = (id: number, meta: Record<string, unknown> = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: TOOL.name, arguments: {}, _meta: meta },
});

/** Opens a legacy session by hand. */
async function openSession(bench: McpBench, protocolVersion = "2025-06-18") {
  const answer = await bench.post({
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion, capabilities: {}, clientInfo: { name: "t", version: "1" } },
  });
  const headers = { "mcp-session-id": answer.headers.get("mcp-session-id") ?? "" };
  await answer.text();
  await bench.post({ jsonrpc: "2.0", method: "notifications/initialized" }, headers);
  return headers;
}

/** The messages of a stream as they come; `cut` drops the socket. */
function follow(response: Response) {
  const messages: { id?: string; data: Record<string, unknown> }[] = [];
  const reader = response.body?.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await reader?.read().catch(() => undefined);
      if (next === undefined || next.done) controller.close();
      else controller.enqueue(next.value);
    },
  });
  const done = (async () => {
    for await (const { id, data } of readSse(body))
      if (data !== "") messages.push({ ...(id === undefined ? {} : { id }), data: JSON.parse(data) });
  })();
  return { messages, done, cut: () => reader?.cancel("socket lost") };
}

describe.each<Era>(["modern", "legacy"])("progress for %s clients", (era) => {
  it("cases 001, 020: one at once, then every 15 s, none after the answer", async () => {
    const bench = new McpBench();
    const client = await bench.connect(era);
    const notes: unknown[] = [];
    const calling = client.callTool(
      { name: TOOL.name, arguments: {} },
      { onprogress: (note) => notes.push(note) },
    );
    const pending = await bench.call();
    await bench.clock.advance(14_999);
    expect(notes).toEqual([{ progress: 1, message: "research: working" }]);
    bench.line = "x".repeat(200);
    await bench.clock.advance(1);
    await bench.clock.advance(15_000);
    expect(notes).toEqual([
      { progress: 1, message: "research: working" },
      { progress: 2, message: "x".repeat(80) },
      { progress: 3, message: "x".repeat(80) },
    ]);
    pending.answer(DONE);
    await calling;
    await bench.clock.advance(60_000);
    expect(notes).toHaveLength(3);
    expect(bench.errors).toEqual([]);
  });

  it("case 020: none without a token: the server makes none up", async () => {
    const bench = new McpBench();
    const client = await bench.connect(era);
    const calling = client.callTool({ name: TOOL.name, arguments: {} });
    const pending = await bench.call();
    const notes: unknown[] = [];
    client.fallbackNotificationHandler = async (note) => void notes.push(note);
    await bench.clock.advance(60_000);
    expect(notes).toEqual([]);
    expect(bench.clock.pending).toBe(0);
    pending.answer(DONE);
    await calling;
  });
});

it.each([["text"], [0], ["x".repeat(300)]])("a progress token may be %j", async (progressToken) => {
  const bench = new McpBench();
  const session = await openSession(bench);
  const { messages, done } = follow(await bench.post(call(1, { progressToken }), session));
  (await bench.call()).answer(DONE);
  await done;
  expect(messages.map(({ data }) => data.method ?? "result")).toEqual(["notifications/progress", "result"]);
  expect(messages[0]?.data.params).toMatchObject({ progressToken });
});

it.each([null, true, {}, ["a"]])("a progress token is never %j", async (progressToken) => {
  const bench = new McpBench();
  const session = await openSession(bench);
  const answer = await bench.post(call(1, { progressToken }), session);
  const pending = bench.calls[0];
  if (pending === undefined) return void expect(answer.status).toBeLessThan(500);
  pending.answer(DONE);
  const { messages, done } = follow(answer);
  await done;
  expect(messages.filter(({ data }) => data.method === "notifications/progress")).toEqual([]);
});

describe("a call is taken back", () => {
  const cancel = (reason?: string) => ({
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: 1, ...(reason === undefined ? {} : { reason }) },
  });

  it.each([undefined, "AbortError: remote-cancel", "MCP request cancelled by caller"])(
    "by a legacy cancel with the reason %j",
    async (reason) => {
      const bench = new McpBench();
      const session = await openSession(bench);
      follow(await bench.post(call(1), session));
      const pending = await bench.call();
      expect((await bench.post(cancel(reason), session)).status).toBe(202);
      await settle();
      expect(pending.cancelled.aborted).toBe(true);
      pending.answer(DONE);
    },
  );

  it.each(["SdkError: Request timed out", "MCP error -32001: Request timed out", "timeout"])(
    "not by a client that merely waited long enough: %j",
    async (reason) => {
      const bench = new McpBench();
      const session = await openSession(bench);
      follow(await bench.post(call(1), session));
      const pending = await bench.call();
      await bench.post(cancel(reason), session);
      await settle();
      expect(pending.cancelled.aborted).toBe(false);
      pending.answer(DONE);
    },
  );

  it("not by a cancel of another session's or of another call's id", async () => {
    const bench = new McpBench();
    const session = await openSession(bench);
    const other = await openSession(bench);
    follow(await bench.post(call(1), session));
    const pending = await bench.call();
    await bench.post(cancel(), other);
    await bench.post({ ...cancel(), params: { requestId: 7 } }, session);
    await settle();
    expect(pending.cancelled.aborted).toBe(false);
    pending.answer(DONE);
  });

  it("not by a cancel that comes after the answer", async () => {
    const bench = new McpBench();
    const session = await openSession(bench);
    const { done } = follow(await bench.post(call(1), session));
    const pending = await bench.call();
    pending.answer(DONE);
    await done;
    await bench.post(cancel(), session);
    await settle();
    expect(pending.cancelled.aborted).toBe(false);
  });

  it.each<Era>(["modern", "legacy"])("not by the end of a %s call that was answered", async (era) => {
    const bench = new McpBench();
    const client = await bench.connect(era);
    const calling = client.callTool({ name: TOOL.name, arguments: {} });
    const pending = await bench.call();
    pending.answer(DONE);
    await calling;
    await client.close();
    await settle();
    expect(pending.cancelled.aborted).toBe(false);
  });
});

describe("a socket that is lost is no cancel", () => {
  it("modern: the client went away, the call goes on and its answer reaches nobody", async () => {
    const bench = new McpBench();
    const client = await bench.connect("modern");
    const controller = new AbortController();
    const calling = client.callTool({ name: TOOL.name, arguments: {} }, { signal: controller.signal });
    const pending = await bench.call();
    controller.abort();
    await calling.catch(() => undefined);
    await settle();
    expect(pending.cancelled.aborted).toBe(false);
    pending.answer(DONE);
    await bench.access.close();
  });

  it("case 003, legacy: the stream is resumed by Last-Event-ID and the result is delivered", async () => {
    const bench = new McpBench();
    const session = await openSession(bench);
    const lost = follow(await bench.post(call(1, { progressToken: "p" }), session));
    const pending = await bench.call();
    await settle();
    const [first] = lost.messages;
    expect(first?.data.method).toBe("notifications/progress");
    void lost.cut();
    await settle();
    await bench.clock.advance(5_000);
    expect(pending.cancelled.aborted).toBe(false);
    const resumed = follow(
      await bench.endpoint.fetch(
        bench.request({ method: "GET", headers: { ...session, "last-event-id": first?.id ?? "" } }),
      ),
    );
    pending.answer(DONE);
    await settle(20);
    expect(resumed.messages.find(({ data }) => "result" in data)?.data).toMatchObject({
      id: 1,
      result: { structuredContent: { status: "completed" } },
    });
    void resumed.cut();
  });

  it("case 007, legacy: an answer that came while nobody listened is still there", async () => {
    const bench = new McpBench();
    const session = await openSession(bench);
    const lost = follow(await bench.post(call(1, { progressToken: "p" }), session));
    const pending = await bench.call();
    await settle();
    void lost.cut();
    await settle();
    pending.answer(DONE);
    await settle();
    const id = lost.messages[0]?.id ?? "";
    const resumed = follow(
      await bench.endpoint.fetch(
        bench.request({ method: "GET", headers: { ...session, "last-event-id": id } }),
      ),
    );
    await settle(20);
    expect(resumed.messages.find(({ data }) => "result" in data)?.data).toMatchObject({ id: 1 });
    void resumed.cut();
  });

  it("legacy: a session whose last stream is lost and that nobody takes up again is gone after 10 s; its call goes on", async () => {
    const bench = new McpBench();
    const session = await openSession(bench);
    const ping = async (id: number) => {
      const answer = await bench.post({ jsonrpc: "2.0", id, method: "ping" }, session);
      await answer.text();
      return answer.status;
    };
    const lost = follow(await bench.post(call(1), session));
    const pending = await bench.call();
    void lost.cut();
    await settle();
    await bench.clock.advance(9_999);
    expect(await ping(9)).toBe(200);
    // The ping was a sign of life, but its stream ended by itself.
    const second = follow(await bench.post(call(2), session));
    await bench.call(1);
    void second.cut();
    await settle();
    await bench.clock.advance(10_000);
    expect(await ping(10)).toBe(404);
    expect(pending.cancelled.aborted).toBe(false);
    for (const { answer } of bench.calls) answer(DONE);
    await bench.access.close();
    await bench.clock.advance(0);
    expect(bench.clock.pending).toBe(0);
  });

  it("a call that is sent again in a new session carries its id, so that the tool can join the two", async () => {
    const bench = new McpBench();
    const meta = { "claudecode/toolUseId": "toolu_1" };
    follow(await bench.post(call(1, meta), await openSession(bench)));
    await bench.call();
    follow(await bench.post(call(1, meta), await openSession(bench)));
    await bench.call(1);
    expect(bench.calls.map(({ callId }) => callId)).toEqual(["toolu_1", "toolu_1"]);
    for (const { answer } of bench.calls) answer(DONE);
  });
});

describe("tools that change", () => {
  it.each<Era>(["modern", "legacy"])("are listed anew, and %s clients are told", async (era) => {
    const bench = new McpBench();
    const client = await bench.connect(era);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([TOOL.name]);
    bench.tools = [
      { ...TOOL, description: "Better." },
      { ...TOOL, name: "second" },
    ];
    bench.access.toolsChanged();
    expect((await client.listTools()).tools.map(({ name, description }) => [name, description])).toEqual([
      [TOOL.name, "Better."],
      ["second", TOOL.description],
    ]);
    bench.tools = [{ ...TOOL, name: "second" }];
    bench.access.toolsChanged();
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["second"]);
  });
});
