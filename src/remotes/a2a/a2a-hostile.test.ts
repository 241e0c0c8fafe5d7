import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { RemoteAgent, RemoteSignal, RemoteTask } from "../../delegation/remote.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { a2a } from "./a2a.js";
import type { A2aOptions } from "./options.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

let messages = 0;
function task(text: string, more: Partial<RemoteTask> = {}): RemoteTask {
  return {
    delegationId: "d-1",
    messageId: `m-${++messages}`,
    text,
    artifacts: [],
    metadata: { delegationId: "d-1" },
    ...more,
  };
}

function remote(agentCardUrl: string, more: Partial<A2aOptions> = {}): RemoteAgent {
  const agent = a2a({ name: "research", agentCardUrl, ...more });
  cleanups.push(() => agent.close());
  return agent;
}

async function collect(signals: AsyncIterable<RemoteSignal>): Promise<RemoteSignal[]> {
  const all: RemoteSignal[] = [];
  for await (const signal of signals) all.push(signal);
  return all;
}

const never = () => new AbortController().signal;
const typesOf = (signals: readonly RemoteSignal[]) => signals.map(({ type }) => type);
describe("a2a against servers that misbehave", () => {
  type Rpc = { id: number; method: string; params: { id?: string } };

  /** An agent whose answers to JSON-RPC calls are written by hand. */
  async function serve(
    answer: (rpc: Rpc, response: ServerResponse, request: IncomingMessage) => void,
    card: object = {},
  ) {
    const calls: Rpc[] = [];
    const listener: RequestListener = (request, response) => {
      if (request.method === "GET") {
        response.setHeader("content-type", "application/json");
        const url = `http://localhost:${port}/rpc`;
        response.end(
          JSON.stringify({
            name: "Odd",
            supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
            capabilities: { streaming: true },
            ...card,
          }),
        );
        return;
      }
      let body = "";
      request.on("data", (bytes) => (body += bytes));
      request.on("end", () => {
        const rpc = JSON.parse(body) as Rpc;
        calls.push(rpc);
        answer(rpc, response, request);
      });
    };
    const server = createServer(listener).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    cleanups.push(
      () => server.close(),
      () => server.closeAllConnections(),
    );
    return { url: `http://127.0.0.1:${port}`, calls, server };
  }

  const accepted = { task: { id: "t-1", contextId: "c-1", status: { state: "TASK_STATE_WORKING" } } };
  const completed = {
    statusUpdate: { taskId: "t-1", contextId: "c-1", status: { state: "TASK_STATE_COMPLETED" } },
  };
  function events(response: ServerResponse, rpc: Rpc, results: unknown[], end = true) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const result of results)
      response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result })}\n\n`);
    if (end) response.end();
  }
  function reply(response: ServerResponse, rpc: Rpc, result: unknown) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result }));
  }
  function rpcError(response: ServerResponse, rpc: Rpc, code: number, status = 200) {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: rpc.id, error: { code, message: `Reason ${code}` } }));
  }
  const run = (url: string, more: Partial<A2aOptions> = {}) =>
    collect(remote(url, more).start(task("x"), never()));

  test.each([
    [-32004, "remote_rejected"],
    [-32005, "remote_rejected"],
    [-32602, "remote_rejected"],
    [-32600, "remote_rejected"],
    [-32601, "capability_unsupported"],
    [-32008, "capability_unsupported"],
    [-32009, "capability_unsupported"],
    [-32603, "remote_failed"],
    [-1, "remote_failed"],
  ])("JSON-RPC error %i to the send becomes %s, also with HTTP 400", async (code, expected) => {
    for (const status of [200, 400]) {
      const { url, calls } = await serve((rpc, response) => rpcError(response, rpc, code, status));
      expect(await run(url)).toEqual([
        {
          type: "failed",
          code: expected,
          retryable: false,
          message: expect.stringContaining(`Reason ${code}`),
        },
      ]);
      // A method that is not known may be so under its new name only, and has started nothing.
      expect(calls).toHaveLength(code === -32601 ? 2 : 1);
    }
  });

  test("429 and 503 may be tried again, with the remote's own delay", async () => {
    for (const status of [429, 503]) {
      const { url, calls } = await serve((_rpc, response) =>
        response.writeHead(status, { "retry-after": "12" }).end("busy"),
      );
      expect(await run(url)).toEqual([
        {
          type: "failed",
          code: "agent_unavailable",
          retryable: true,
          message: expect.stringContaining("12 s"),
        },
      ]);
      expect(calls).toHaveLength(1);
    }
  });

  test("case 065: a wrong endpoint names the final URL", async () => {
    const { url } = await serve((_rpc, response) => response.writeHead(404).end("<h1>Not here</h1>"));
    expect(await run(url)).toEqual([
      expect.objectContaining({
        code: "agent_unavailable",
        message: expect.stringMatching(/localhost:\d+\/rpc.*404/s),
      }),
    ]);
  });

  test("an answer that is not A2A fails without its text", async () => {
    const { url } = await serve((_rpc, response) => response.end("<h1>private page</h1>"));
    const [signal] = await run(url);
    expect(signal).toMatchObject({ type: "failed", code: "remote_failed" });
    expect(JSON.stringify(signal)).not.toContain("private");
  });

  test("a redirect of the call is refused", async () => {
    const { url } = await serve((_rpc, response) =>
      response.writeHead(307, { location: "http://evil.example/" }).end(),
    );
    expect(await run(url)).toEqual([expect.objectContaining({ type: "failed", code: "policy_denied" })]);
  });

  test("case 050: a send that broke without an answer is never repeated", async () => {
    const { url, calls } = await serve((_rpc, _response, request) => request.socket.destroy());
    expect(await run(url)).toEqual([{ type: "disconnected", message: expect.stringContaining("broke") }]);
    expect(calls).toHaveLength(1);
  });

  test("case 113: silence on an open stream is a disconnect, on our own clock; a comment is a sign of life", async () => {
    const clock = new ManualClock();
    let stream: ServerResponse | undefined;
    const { url } = await serve((rpc, response) => {
      stream = response;
      events(response, rpc, [accepted], false);
    });
    const signals = remote(url, { clock, limits: { idleTimeoutMs: 60_000 } })
      .start(task("x"), never())
      [Symbol.asyncIterator]();
    expect((await signals.next()).value?.type).toBe("accepted");
    expect((await signals.next()).value?.type).toBe("status");
    const next = signals.next();
    await clock.advance(59_000);
    // Whoever notes the time has got the comment.
    const noted = vi.spyOn(clock, "now");
    stream?.write(": still here\n\n");
    await expect.poll(() => noted.mock.calls.length).toBeGreaterThan(0);
    await clock.advance(59_999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect((await next).value).toEqual({
      type: "status",
      status: "reconnecting",
      message: expect.stringContaining("60000 ms"),
    });
    await signals.return?.();
    expect(clock.pending).toBe(0);
  });

  test("case 075: an answer that is taken under another task id goes on there, is asked about there, and once", async () => {
    const status = (taskId: string, state: string, text?: string) => ({
      statusUpdate: {
        taskId,
        contextId: "c-1",
        status: {
          state,
          ...(text === undefined
            ? {}
            : { message: { messageId: "q", role: "ROLE_AGENT", parts: [{ text }] } }),
        },
      },
    });
    let sends = 0;
    const { url, calls } = await serve((rpc, response) => {
      if (rpc.method === "CancelTask")
        return reply(response, rpc, {
          id: rpc.params.id,
          contextId: "c-1",
          status: { state: "TASK_STATE_CANCELED" },
        });
      if (rpc.method === "GetTask") {
        const task = { id: rpc.params.id, contextId: "c-1", status: { state: "TASK_STATE_WORKING" } };
        return reply(response, rpc, task);
      }
      if (sends++ === 0)
        return events(response, rpc, [accepted, status("t-1", "TASK_STATE_INPUT_REQUIRED", "Which?")], false);
      events(response, rpc, [
        { task: { ...accepted.task, id: "t-2" } },
        status("t-2", "TASK_STATE_COMPLETED"),
      ]);
    });
    const agent = remote(url);
    const signals: RemoteSignal[] = [];
    for await (const signal of agent.start(task("x"), never())) {
      signals.push(signal);
      if (signal.type === "input_required")
        await agent.answer?.({ taskId: "t-1", contextId: "c-1" }, { text: "this" }, never());
    }
    expect(typesOf(signals.filter(({ type }) => type !== "status"))).toEqual([
      "accepted",
      "input_required",
      "accepted",
      "completed",
    ]);
    expect(signals.flatMap((signal) => (signal.type === "accepted" ? signal.taskId : []))).toEqual([
      "t-1",
      "t-2",
    ]);
    expect(calls.filter(({ method }) => /Message/.test(method))).toHaveLength(2);
    expect(await agent.cancel({ taskId: "t-2" }, { delegationId: "d-1", reason: "r" }, never())).toEqual({
      outcome: "cancelled",
    });
    expect(calls.at(-1)?.params.id).toBe("t-2");
  });

  test.each([
    ["cut in the middle of an event", 'data: {"jsonrpc":"2.0","id":1,"result":{"statusUpd'],
    ["no JSON", "data: not json\n\n"],
    [
      "an integer that would be rounded",
      'data: {"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}\n\n',
    ],
    ["an error envelope", 'data: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"boom"}}\n\n'],
  ])("a stream with %s is a loss, and the task is looked up", async (_name, text) => {
    const { url, calls } = await serve((rpc, response) => {
      if (rpc.method === "GetTask") {
        const artifacts = [{ artifactId: "a", parts: [{ text: "hi" }] }];
        return reply(response, rpc, { id: "t-1", status: { state: "TASK_STATE_COMPLETED" }, artifacts });
      }
      events(response, rpc, [accepted], false);
      response.end(text);
    });
    const signals = await run(url);
    expect(typesOf(signals)).toEqual(["accepted", "status", "status", "text", "completed"]);
    expect(signals[2]).toMatchObject({ status: "reconnecting" });
    expect(calls.map(({ method }) => method)).toEqual(["SendStreamingMessage", "GetTask"]);
  });

  test("oversized events and bodies end as artifact_too_large, with what came before", async () => {
    const large = {
      artifactUpdate: { taskId: "t-1", artifact: { artifactId: "a", parts: [{ text: "x".repeat(5000) }] } },
    };
    const { url } = await serve((rpc, response) =>
      events(response, rpc, [accepted, large, large, completed]),
    );
    const end = expect.objectContaining({ type: "failed", code: "artifact_too_large" });
    expect((await run(url, { limits: { maxEventBytes: 2000 } })).at(-1)).toEqual(end);
    const partial = await run(url, { limits: { maxResponseBytes: 8000 } });
    expect(partial.at(-1)).toEqual(end);
    expect((await run(url)).at(-1)?.type).toBe("completed");
  });

  test("framing and members that others send are tolerated: CRLF, U+001E, unknown states and payloads", async () => {
    const { url } = await serve((rpc, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const results = [
        { future: { a: 1 } },
        { task: { id: "t-1", contextId: "c-1", status: { state: "TASK_STATE_DREAMING" }, future: 1 } },
        { task: { id: "t-1", contextId: "c-1" } },
        {
          artifactUpdate: {
            taskId: "t-1",
            append: true,
            artifact: { artifactId: "new", parts: [{ text: "hi" }, { odd: 1 }] },
          },
        },
        completed,
      ];
      for (const result of results) {
        response.write(
          `: c\r\ndata: \u001e${JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result })}\r\n\r\n`,
        );
      }
      response.end();
    });
    expect(await run(url)).toEqual([
      { type: "accepted", taskId: "t-1", contextId: "c-1" },
      { type: "status", status: "unknown" },
      expect.anything(),
      { type: "completed" },
    ]);
  });

  test("a credential that the remote repeats in its errors and statuses is removed", async () => {
    const token = "t0ps3cret-token";
    const { url } = await serve((rpc, response) => {
      events(response, rpc, [
        accepted,
        {
          statusUpdate: {
            taskId: "t-1",
            status: { state: "TASK_STATE_FAILED", message: { parts: [{ text: `bad ${token}` }] } },
          },
        },
      ]);
    });
    expect((await run(url, { auth: { mode: "bearer", token } })).at(-1)).toEqual({
      type: "failed",
      message: "bad [redacted]",
      remoteStatus: "failed",
    });
  });

  test("cancel: codes that servers disagree about are settled by one look at the task", async () => {
    let state = "TASK_STATE_FAILED";
    const { url } = await serve((rpc, response) => {
      if (rpc.method === "CancelTask") return rpcError(response, rpc, -32603);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result: { id: rpc.params.id, status: { state } } }),
      );
    });
    const research = remote(url);
    const cancel = () => research.cancel({ taskId: "t-1" }, { delegationId: "d", reason: "r" }, never());
    expect(await cancel()).toEqual({ outcome: "already_over", remoteStatus: "failed" });
    state = "TASK_STATE_CANCELED";
    expect(await cancel()).toEqual({ outcome: "cancelled" });
    state = "TASK_STATE_WORKING";
    expect(await cancel()).toEqual({ outcome: "pending", detail: expect.stringContaining("Reason -32603") });
  });

  test("close ends a stream that is open", async () => {
    const { url } = await serve((rpc, response) => events(response, rpc, [accepted], false));
    const research = remote(url);
    const signals: RemoteSignal[] = [];
    for await (const signal of research.start(task("x"), never())) {
      signals.push(signal);
      if (signal.type === "status") await research.close();
    }
    expect(signals.at(-1)?.type).toBe("disconnected");
  });
});

describe("options", () => {
  test.each<[string, Partial<A2aOptions>]>([
    ["a relative card URL", { agentCardUrl: "/card.json" }],
    ["another scheme", { agentCardUrl: "file:///etc/passwd" }],
    ["a password in the URL", { agentCardUrl: "https://u:p4ssw0rd@a.example/" }],
    ["a bad override", { endpointUrlOverride: "nonsense" }],
    ["a bad trusted origin", { trustedOrigins: ["a.example"] }],
    ["an empty token", { auth: { mode: "bearer", token: "" } }],
    ["a token with a line break", { auth: { mode: "bearer", token: "p4ssw0rd\nx" } }],
    ["a bad header name", { auth: { mode: "api_key", key: "k", headerName: "X Key" } }],
    ["no name", { name: " " }],
  ])("refuses %s, without showing a secret", (_name, more) => {
    const make = () => a2a({ name: "research", agentCardUrl: "https://a.example/", ...more });
    expect(make).toThrowError(
      expect.objectContaining({ code: "invalid_input", message: expect.not.stringContaining("p4ssw0rd") }),
    );
  });
});
