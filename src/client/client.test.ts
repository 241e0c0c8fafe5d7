import { describe, expect, it } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import { createClient } from "./client.js";

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: unknown;
}

function setup(...answers: (Response | "refused" | "silent")[]) {
  const sent: Sent[] = [];
  const clock = new ManualClock();
  const fetchFunction: typeof fetch = async (url, init = {}) => {
    sent.push({
      method: init.method ?? "GET",
      url: String(url),
      headers: new Headers(init.headers),
      body: typeof init.body === "string" ? JSON.parse(init.body) : undefined,
    });
    const answer = answers[sent.length - 1];
    if (answer === "silent") return new Promise<never>(() => undefined);
    if (answer === "refused" || answer === undefined) throw new TypeError("fetch failed");
    return answer;
  };
  const headers = async () => ({ authorization: "Bearer fresh" });
  return {
    client: createClient({ baseUrl: "http://host/", fetch: fetchFunction, headers, clock }),
    sent,
    clock,
  };
}

const accepted = () => new Response(null, { status: 202 });

describe("a client", () => {
  it("lists threads page by page, and skips what it cannot read", async () => {
    const run = { runId: "run-1", agent: "claude", status: "failed", startedAt: 5, endedAt: 9 };
    const threads = [{ threadId: "t", title: "Hello", run, runs: 2, detached: 1 }, { title: "no id" }, null];
    const { client, sent } = setup(Response.json({ threads, next: "5:t" }), Response.json({ threads: [] }));
    const page = await client.listThreads();
    expect(page).toEqual({
      threads: [
        {
          threadId: "t",
          title: "Hello",
          agent: "claude",
          status: "failed",
          startedAt: 5,
          endedAt: 9,
          detached: 1,
        },
      ],
      next: "5:t",
    });
    expect(await client.listThreads(page.next)).toEqual({ threads: [] });
    expect(sent.map(({ url }) => url)).toEqual(["http://host/threads", "http://host/threads?before=5%3At"]);
    const broken = setup(Response.json({}));
    await expect(broken.client.listThreads()).rejects.toMatchObject({ code: "protocol_error" });
  });

  it("gets a delegation's record with its history, and the audit that stands in it", async () => {
    const history = [
      { cursor: "4", time: 1, type: "subagent.started", audit: { tool: "delegate_to_agent" } },
      { cursor: "5", time: 2, type: "subagent.status", status: "working", message: "On it" },
      { type: "subagent.status" },
    ];
    const { client, sent } = setup(
      Response.json({ delegationId: "del/1", cardFingerprint: "f", history }),
      Response.json([]),
    );
    const record = await client.getDelegation("del/1");
    expect(sent[0]?.url).toBe("http://host/delegations/del%2F1");
    expect(record).toMatchObject({
      delegationId: "del/1",
      raw: { cardFingerprint: "f" },
      audit: { tool: "delegate_to_agent" },
      history: [
        { cursor: "4", type: "subagent.started" },
        { cursor: "5", status: "working", message: "On it" },
      ],
    });
    expect(record.history).toHaveLength(2);
    await expect(client.getDelegation("x")).rejects.toMatchObject({ code: "protocol_error" });
  });

  it("starts a run as AG-UI wants it, and leaves the answer's stream", async () => {
    let cancelled = false;
    const body = new ReadableStream({
      cancel() {
        cancelled = true;
      },
    });
    const { client, sent } = setup(new Response(body, { headers: { "content-type": "text/event-stream" } }));
    const run = await client.startRun({ agent: "my agent", threadId: "t", text: "Hello" });
    expect(sent[0]).toMatchObject({
      method: "POST",
      url: "http://host/agents/my%20agent/run?subagents=custom",
      body: {
        threadId: "t",
        runId: run.runId,
        protocolVersion: "1.0",
        messages: [{ id: run.messageId, role: "user", content: "Hello" }],
        state: {},
        tools: [],
        context: [],
        forwardedProps: {},
      },
    });
    expect(sent[0]?.headers.get("accept")).toBe("text/event-stream");
    expect(sent[0]?.headers.get("authorization")).toBe("Bearer fresh");
    expect(cancelled).toBe(true);
  });

  it("repeats a start that got no answer with the same ids, and no other failure (case 050)", async () => {
    const { client, sent, clock } = setup("refused", "silent", new Response(null));
    const started = client.startRun({ agent: "claude", threadId: "t", text: "Hello" });
    await clock.advance(500);
    await clock.advance(30_000);
    await clock.advance(1_000);
    const run = await started;
    expect(sent.map((request) => request.body)).toEqual([sent[0]?.body, sent[0]?.body, sent[0]?.body]);
    expect(sent[0]?.body).toMatchObject({ runId: run.runId });

    const busy = setup(
      new Response(JSON.stringify({ error: { code: "thread_busy", message: "Busy." } }), { status: 409 }),
    );
    await expect(busy.client.startRun({ agent: "claude", threadId: "t", text: "x" })).rejects.toMatchObject({
      code: "conflict",
      hostCode: "thread_busy",
      message: "Busy.",
    });
    expect(busy.sent).toHaveLength(1);
  });

  it("gives up a start after three attempts without an answer", async () => {
    const { client, sent, clock } = setup();
    const failed = expect(
      client.startRun({ agent: "claude", threadId: "t", text: "x" }),
    ).rejects.toMatchObject({
      code: "unreachable",
      retryable: true,
    });
    await clock.advance(5_000);
    await failed;
    expect(sent).toHaveLength(3);
    expect(clock.pending).toBe(0);
  });

  it("cancels runs and delegations and decides approvals", async () => {
    const { client, sent } = setup(accepted(), accepted(), accepted(), new Response("{}", { status: 409 }));
    await client.cancelRun("run/1", "user");
    await client.cancelDelegation("del-1");
    await client.decideApproval("app-1", { decision: "deny", message: "no" });
    await expect(client.decideApproval("app-1", { decision: "approve" })).rejects.toMatchObject({
      code: "conflict",
    });
    expect(sent.slice(0, 3).map(({ method, url, body }) => [method, url, body])).toEqual([
      ["POST", "http://host/runs/run%2F1/cancel", { reason: "user" }],
      ["POST", "http://host/delegations/del-1/cancel", {}],
      ["POST", "http://host/approvals/app-1", { decision: "deny", message: "no" }],
    ]);
  });

  it("lists agents, and fills in what a host left out", async () => {
    const { client } = setup(
      Response.json({
        agents: [{ key: "claude", driver: "claude" }, { odd: true }],
        subAgents: [
          {
            key: "research",
            name: "Research",
            protocol: "agui",
            description: "d",
            skills: [{ id: "s", name: "S" }, 4],
            status: "ready",
          },
          { key: "bare" },
        ],
      }),
    );
    expect(await client.listAgents()).toEqual({
      agents: [{ key: "claude", name: "claude", driver: "claude" }],
      subAgents: [
        {
          key: "research",
          name: "Research",
          protocol: "agui",
          description: "d",
          skills: [{ id: "s", name: "S" }],
          status: "ready",
        },
        { key: "bare", name: "bare", protocol: "a2a", description: "", skills: [], status: "unknown" },
      ],
    });
    await expect(setup(new Response("<html>")).client.listAgents()).rejects.toMatchObject({
      code: "protocol_error",
    });
  });

  it("caps what a host says in an error", async () => {
    const { client } = setup(
      new Response(JSON.stringify({ error: { message: "x".repeat(9_000) } }), { status: 500 }),
    );
    await expect(client.cancelRun("r")).rejects.toSatisfy((error: Error) => error.message.length === 500);
  });

  it("escapes ids in the address of an artifact", () => {
    expect(setup().client.artifactUrl("del-1", "a b/c.md")).toBe(
      "http://host/delegations/del-1/artifacts/a%20b%2Fc.md",
    );
  });
});
