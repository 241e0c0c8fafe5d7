import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { connectTo, type Era, McpBench, TOOL } from "../../../test/support/mcp-bench.js";
import { stringsReachableFrom } from "../../../test/support/object-graph.js";
import { createToken } from "../../core/ids.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { McpEndpoint } from "./endpoint.js";

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};
const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list", params: {} };

describe("who may come in", () => {
  it("no, a malformed, a wrong and a stale token get the same 401, with no hint of what exists", async () => {
    const bench = new McpBench();
    const stale = "stale-token-0123456789abcdef0123456789abcdef";
    bench.endpoint.addRun(stale, bench.toolset()).revoke();
    const request = bench.request({ body: JSON.stringify(INITIALIZE) });
    request.headers.delete("authorization");
    const answers = [await bench.endpoint.fetch(request)];
    for (const token of [
      "",
      "wrong",
      `${bench.token}x`,
      bench.token.slice(0, -1),
      bench.token.toUpperCase(),
      stale,
    ])
      answers.push(await bench.post(INITIALIZE, {}, token));
    answers.push(await bench.post(INITIALIZE, { authorization: `Basic ${bench.token}` }));
    answers.push(await bench.endpoint.fetch(bench.request({ method: "GET", token: "wrong" })));
    answers.push(await bench.endpoint.fetch(bench.request({ method: "DELETE", token: stale })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
    const bodies = await Promise.all(answers.map((answer) => answer.text()));
    const challenges = answers.map(({ headers }) => headers.get("www-authenticate"));
    expect([new Set(bodies).size, new Set(challenges).size]).toEqual([1, 1]);
    expect(bodies[0]).not.toMatch(/stale|revoked|run|expired/i);
    expect((await bench.post(INITIALIZE)).status).toBe(200);
  });

  it("a foreign Host and any Origin are refused before the token is looked at", async () => {
    const bench = new McpBench();
    for (const headers of [
      { host: "evil.example" },
      { host: "127.0.0.1.evil.example:4000" },
      { origin: "http://127.0.0.1:4000" },
      { origin: "null" },
      { origin: "https://evil.example" },
    ] as Record<string, string>[]) {
      expect((await bench.post(INITIALIZE, headers)).status).toBe(403);
      expect((await bench.post(INITIALIZE, headers, "wrong")).status).toBe(403);
    }
    for (const host of ["127.0.0.1", "localhost:4000", "[::1]:4000"])
      expect((await bench.post(INITIALIZE, { host })).status).toBe(200);
  });

  it("a session of another run does not exist", async () => {
    const bench = new McpBench();
    const other = "token-of-run-2-0123456789abcdef0123456789abcdef";
    bench.endpoint.addRun(other, bench.toolset());
    const opened = await bench.post(INITIALIZE);
    const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    expect(session["mcp-session-id"]).not.toBe("");
    expect((await bench.post(LIST, session)).status).toBe(200);
    expect((await bench.post(LIST, session, other)).status).toBe(404);
    expect(
      (await bench.endpoint.fetch(bench.request({ method: "DELETE", headers: session, token: other })))
        .status,
    ).toBe(404);
    expect((await bench.post(LIST, { "mcp-session-id": "made-up" })).status).toBe(404);
    expect((await bench.post(LIST, session)).status).toBe(200);
  });

  it("a token is kept nowhere in the endpoint, only its hash, whatever was called with it", async () => {
    const clock = new ManualClock();
    const endpoint = new McpEndpoint({ clock, instructions: "", version: "1" });
    const token = createToken();
    const answer = { structured: { status: "completed" }, isError: false };
    const access = endpoint.addRun(token, {
      tools: () => [TOOL],
      call: async () => answer,
      progress: () => "",
    });
    for (const era of ["modern", "legacy"] as const) {
      const client = await connectTo(endpoint, era, token);
      await client.callTool({ name: TOOL.name, arguments: {} });
    }
    const strings = stringsReachableFrom({ endpoint, access });
    expect(strings).toContain(createHash("sha256").update(token).digest("hex"));
    expect([...strings].filter((text) => text.includes(token))).toEqual([]);
  });
});

describe("what may come in", () => {
  it.each([
    ["text/plain", 415, JSON.stringify(INITIALIZE), { "content-type": "text/plain" }],
    ["a form", 415, "a=b", { "content-type": "application/x-www-form-urlencoded" }],
    ["no JSON", 400, "{", {}],
    ["nothing", 400, "", {}],
    ["more than 4 MB", 413, JSON.stringify({ ...LIST, params: { x: "x".repeat(4 * 1_048_576) } }), {}],
    ["a request without a session", 400, JSON.stringify(LIST), {}],
  ])("%s is %i", async (_what, status, body, headers) => {
    const bench = new McpBench();
    const answer = await bench.post(body, headers as Record<string, string>);
    expect(answer.status).toBe(status);
    expect(await answer.text()).not.toContain(bench.token);
  });

  it("GET and DELETE without a session are refused", async () => {
    const bench = new McpBench();
    for (const method of ["GET", "DELETE", "PUT"]) {
      const { status } = await bench.endpoint.fetch(bench.request({ method }));
      expect(status).toBeGreaterThanOrEqual(400);
    }
  });
});

describe.each<Era>(["modern", "legacy"])("%s clients", (era) => {
  it("list the tool as it is, with the hints that programs act on", async () => {
    const bench = new McpBench();
    const client = await bench.connect(era);
    expect(client.getInstructions()).toBe("Use it well.");
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([
      {
        name: TOOL.name,
        description: TOOL.description,
        inputSchema: TOOL.inputSchema,
        outputSchema: TOOL.outputSchema,
        annotations: { readOnlyHint: true, destructiveHint: false },
        _meta: { "anthropic/alwaysLoad": true },
      },
    ]);
  });

  it("get the same JSON as structure and as text, also for an error", async () => {
    const bench = new McpBench();
    const client = await bench.connect(era);
    for (const isError of [false, true]) {
      const structured = { status: isError ? "failed" : "completed", summary: "ä 😀 \u2028" };
      const calling = client.callTool({ name: TOOL.name, arguments: { objective: "x" } });
      (await bench.call(bench.calls.length)).answer({
        structured,
        isError,
        meta: { "troupe/delegationId": "del-1" },
      });
      const result = await calling;
      expect(result.structuredContent).toEqual(structured);
      expect(result.content).toEqual([{ type: "text", text: JSON.stringify(structured) }]);
      expect(result.isError ?? false).toBe(isError);
      expect(result._meta).toMatchObject({ "troupe/delegationId": "del-1" });
    }
    expect(bench.calls.map(({ tool, input }) => ({ tool, input }))).toEqual(
      Array(2).fill({ tool: TOOL.name, input: { objective: "x" } }),
    );
  });

  it("reach the tool with any arguments: it answers bad ones itself", async () => {
    const bench = new McpBench();
    const client = await bench.connect(era);
    const calling = client.callTool({
      name: TOOL.name,
      arguments: { endpoint_url: "http://evil", objective: 7 },
    });
    const call = await bench.call();
    expect(call.input).toEqual({ endpoint_url: "http://evil", objective: 7 });
    call.answer({ structured: { status: "failed" }, isError: true });
    expect(await calling).toMatchObject({ isError: true });
  });

  it("case 110: the program's own call id is passed on when there is one", async () => {
    const bench = new McpBench();
    const client = await bench.connect(era);
    for (const [index, [meta, callId]] of [
      [{ "claudecode/toolUseId": "toolu_1" }, "toolu_1"],
      [{ callId: "call_2" }, "call_2"],
      [{ "claudecode/toolUseId": 7 }, undefined],
      [{}, undefined],
    ].entries() as IterableIterator<[number, [Record<string, unknown>, string | undefined]]>) {
      const calling = client.callTool({ name: TOOL.name, arguments: {}, _meta: meta });
      const call = await bench.call(index);
      expect(call.callId).toBe(callId);
      call.answer({ structured: { status: "completed" }, isError: false });
      await calling;
    }
  });

  it("may call side by side", async () => {
    const bench = new McpBench();
    const client = await bench.connect(era);
    const both = ["a", "b"].map((objective) =>
      client.callTool({ name: TOOL.name, arguments: { objective } }),
    );
    for (const index of [1, 0]) {
      const call = await bench.call(index);
      call.answer({ structured: { status: "completed", of: call.input }, isError: false });
    }
    expect((await Promise.all(both)).map(({ structuredContent }) => structuredContent)).toMatchObject([
      { of: { objective: "a" } },
      { of: { objective: "b" } },
    ]);
  });

  it("a run that ends answers what is open before its access closes", async () => {
    const bench = new McpBench();
    const client = await bench.connect(era);
    const calling = client.callTool({ name: TOOL.name, arguments: {} });
    const call = await bench.call();
    const closing = bench.access.close();
    call.answer({ structured: { status: "cancelled" }, isError: true });
    expect(await calling).toMatchObject({ structuredContent: { status: "cancelled" } });
    await closing;
    expect((await bench.post(INITIALIZE)).status).toBe(401);
  });
});
