import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import type { HostOptions } from "../../src/host/host.js";
import { customValue, type Frame, framesOf } from "../support/frames.js";
import { startTestHost, type TestHost } from "../support/host.js";
import { verify } from "../support/verify.js";
import { type Era, Peer } from "./peer.js";

/** Node tells of each answer of a server in this process. */
const ANSWERED = "http.server.response.finish";

/** A host with a run that goes on until it is cancelled, and whoever has its token may use its endpoint. */
class OpenRun implements AsyncDisposable {
  readonly frames: Frame[] = [];
  readonly over: Promise<void>;
  /** Notifications that the endpoint has taken from clients of the older era. */
  notifications = 0;
  readonly #waiting = new Set<() => void>();
  readonly #onAnswer = (message: unknown) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    const port = Number(new URL(this.host.host.mcpUrl).port);
    if (request.socket.localPort === port && response.statusCode === 202) this.notifications++;
  };

  constructor(
    readonly host: TestHost,
    readonly token: () => string,
    response: Response,
  ) {
    this.over = this.#read(response);
    subscribe(ANSWERED, this.#onAnswer);
  }

  peer(era: Era, token = this.token(), answer?: Readonly<Record<string, unknown>>): Peer {
    return new Peer(this.host.host.mcpUrl, token, era, answer);
  }

  /** Waits for a frame. */
  async until(wanted: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const found = this.frames.find(wanted);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Waits until the remote has said its first words. @returns the delegation's id. */
  async firstWords(text = "Busy."): Promise<string> {
    const frame = await this.until(
      (seen) => seen.event.name === "subagent.text.delta" && customValue(seen).delta === text,
    );
    return String(customValue(frame).delegationId);
  }

  async delegation(id: string): Promise<Record<string, unknown>> {
    return (await (await this.host.get(`/delegations/${id}`)).json()) as Record<string, unknown>;
  }

  async calls(method: RegExp): Promise<number> {
    return (await this.host.remote.seen()).filter((call) => method.test(call.method)).length;
  }

  async #read(response: Response): Promise<void> {
    for await (const frame of framesOf(response)) {
      this.frames.push(frame);
      for (const resolve of this.#waiting) resolve();
      this.#waiting.clear();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    unsubscribe(ANSWERED, this.#onAnswer);
    await this.host.send("/runs/run-1/cancel");
    await this.over;
    await verify(this.frames);
    await this.host[Symbol.asyncDispose]();
  }
}

async function openRun(options: Partial<HostOptions> = {}): Promise<OpenRun> {
  const tokens: string[] = [];
  const watch = {
    name: "token-watch",
    attach: async ({ token }: { token: string }) => {
      tokens.push(token);
      return { detach: async () => undefined };
    },
  };
  const host = await startTestHost({
    script: { turns: [[{ say: "Open." }, { hang: true }]] },
    agent: { services: [watch] },
    host: options,
  });
  const run = new OpenRun(host, () => tokens.at(-1) ?? "", await host.post("go"));
  // The endpoint is open to the token when the program has started.
  await run.until(({ event }) => event.type === "TEXT_MESSAGE_CONTENT");
  return run;
}

const delegate = (objective: string) => ({ agent: "research", objective });
const names = (frames: readonly Frame[]) => frames.map(({ event }) => event.name);

describe.each(["modern", "legacy"] as const)("a foreign MCP client, %s", (era) => {
  it("lists the tool that delegates with its agents, and is told how to use it", async () => {
    await using run = await openRun();
    await using peer = run.peer(era);
    const { instructions } = await peer.connect();
    expect(instructions).toContain("hand tasks to other agents");
    const { tools } = await peer.list();
    const tool = tools.find(({ name }) => name === "delegate_to_agent");
    expect(tool).toMatchObject({
      inputSchema: {
        type: "object",
        properties: { agent: { enum: ["research"] } },
        additionalProperties: false,
      },
      outputSchema: { type: "object" },
      annotations: { readOnlyHint: true, destructiveHint: false },
      _meta: { "anthropic/alwaysLoad": true },
    });
    expect(String(tool?.description)).toContain("research: Searches sources");
  });

  it("cases 001, 110, 112: calls it, gets progress and the whole result twice, and the run shows it as its own", async () => {
    await using run = await openRun();
    await using peer = run.peer(era);
    await peer.connect();
    const result = await peer.call({
      input: delegate("#say Found.\n#artifact notes.md 3000"),
      progress: true,
    }).result;
    expect(result.isError).not.toBe(true);
    expect(JSON.parse(result.content[0]?.text ?? "")).toEqual(result.structuredContent);
    expect(result.structuredContent).toMatchObject({
      agent: "research",
      status: "completed",
      summary: "Found.",
      remote_task_id: expect.any(String),
      remote_context_id: expect.any(String),
      artifacts: [{ name: "notes.md", size: 3000 }],
    });
    expect(result._meta).toMatchObject({ "troupe/delegationId": result.structuredContent.delegation_id });
    expect(peer.progress).toEqual([expect.objectContaining({ progress: 1, message: expect.any(String) })]);
    // No call of the parent's is open, so it belongs to the run and to no call.
    const started = await run.until(({ event }) => event.name === "subagent.started");
    expect(customValue(started)).toMatchObject({ runId: "run-1", correlation: "none" });
    expect(customValue(started)).not.toHaveProperty("parentToolCallId");
    expect(customValue(await run.until(({ event }) => event.name === "subagent.finished")).result).toEqual(
      result.structuredContent,
    );
  });

  it("case 020: who asks for no progress gets none", async () => {
    await using run = await openRun();
    await using peer = run.peer(era);
    await peer.connect();
    await peer.call({ input: delegate("#say a\n#chunks 20") }).result;
    await peer.list();
    expect([peer.progress, peer.trouble]).toEqual([[], []]);
  });

  it("refuses what it does not know as an answer to the model, and starts nothing", async () => {
    await using run = await openRun();
    await using peer = run.peer(era);
    await peer.connect();
    const codeOf = async (input: Record<string, unknown>) => {
      const { isError, content } = await peer.call({ input }).result;
      expect(isError).toBe(true);
      return JSON.parse(content[0]?.text ?? "").error.code;
    };
    expect(await codeOf({ agent: "nobody", objective: "x" })).toBe("agent_not_found");
    expect(await codeOf({ agent: "http://evil.test/", objective: "x" })).toBe("invalid_input");
    expect(await codeOf({ agent: "research" })).toBe("invalid_input");
    expect(await codeOf({ agent: "research", objective: "x", url: "http://evil.test/" })).toBe(
      "invalid_input",
    );
    await expect(peer.call({ name: "run_shell", input: {} }).result).rejects.toThrow(/run_shell/);
    expect(await run.calls(/send/i)).toBe(0);
    expect(names(run.frames)).not.toContain("subagent.started");
  });

  it("shows a remote's question to its person, and the answer reaches the remote's task", async () => {
    await using run = await openRun({ elicitation: true });
    const answer = { action: "accept", content: { answer: "Rome" } };
    await using peer = run.peer(era, run.token(), answer);
    await peer.connect();
    const { structuredContent } = await peer.call({ input: delegate("#input Which city?\n#say Booked.") })
      .result;
    expect(structuredContent).toMatchObject({ status: "completed" });
    expect(peer.forms).toMatchObject([{ mode: "form", message: "Which city?" }]);
    const sent = (await run.host.remote.seen()).filter(({ method }) => /send/i.test(method));
    expect(sent).toHaveLength(2);
    expect(JSON.stringify(sent[1]?.params)).toContain("Rome");
    expect(peer.trouble).toEqual([]);
  });

  it("case 005: with a limit of its own it is answered before, and finds the result by id", async () => {
    await using run = await openRun({ syncBudgetMs: 200 });
    await using peer = run.peer(era);
    await peer.connect();
    const input = delegate("#say Thinking.\n#delay 600\n#say Found.");
    const { structuredContent } = await peer.call({ input, timeout: 5_000 }).result;
    expect(structuredContent).toMatchObject({ status: "working", delegation_id: expect.any(String) });
    const later = peer.call({
      name: "task_result",
      input: { delegation_id: structuredContent.delegation_id, wait_seconds: 20 },
    });
    expect((await later.result).structuredContent).toMatchObject({
      status: "completed",
      delegation_id: structuredContent.delegation_id,
    });
    expect(await run.calls(/send/i)).toBe(1);
  });

  it("two calls at once get each its own result", async () => {
    await using run = await openRun();
    await using peer = run.peer(era);
    await peer.connect();
    const slow = peer.call({ input: delegate("#say slow\n#hang") });
    const slowId = await run.firstWords("slow");
    const quick = await peer.call({ input: delegate("#say quick") }).result;
    expect(quick.structuredContent).toMatchObject({ status: "completed", summary: "quick" });
    await run.host.send(`/delegations/${slowId}/cancel`);
    expect((await slow.result).content[0]?.text).toContain(slowId);
  });

  it("cases 003, 007, 022: a client's own time limit does not end the delegation, and the same call gets its result", async () => {
    await using run = await openRun();
    await using peer = run.peer(era);
    await peer.connect();
    const call = { input: delegate("#say Busy.\n#hang"), meta: { callId: "call-1" } };
    await expect(peer.call({ ...call, timeout: 400 }).result).rejects.toThrow(/timed out/i);
    const id = await run.firstWords();
    // What tells that it gave up is still on its way when it says so: until it is here, the first call is answered as well.
    if (era === "legacy") await expect.poll(() => run.notifications).toBe(2);
    const again = peer.call(call);
    // The second call is in when it is answered, which only this stop does.
    expect(await run.delegation(id)).toMatchObject({ status: "working" });
    expect((await run.host.send(`/delegations/${id}/cancel`, { reason: "enough" })).status).toBe(202);
    const { isError, content } = await again.result;
    expect(isError).toBe(true);
    expect(JSON.parse(content[0]?.text ?? "")).toMatchObject({
      delegation_id: id,
      status: "cancelled",
      summary: "Busy.",
    });
    expect(await run.delegation(id)).toMatchObject({
      stop: { reason: "enough" },
      result: { delegation_id: id },
    });
    expect([await run.calls(/send/i), await run.calls(/cancel/i)]).toEqual([1, 1]);
    expect(peer.trouble).toEqual([]);
  });

  it("the death of a client does not end the delegation, and another one finds it by its call", async () => {
    await using run = await openRun();
    await using first = run.peer(era);
    await first.connect();
    const call = { input: delegate("#say Busy.\n#hang"), meta: { "claudecode/toolUseId": "toolu_1" } };
    void first.call(call);
    const id = await run.firstWords();
    await first.kill();
    await using second = run.peer(era);
    await second.connect();
    const again = second.call(call);
    await second.list();
    expect(await run.delegation(id)).toMatchObject({ status: "working", parentToolCallId: "toolu_1" });
    await run.host.send(`/delegations/${id}/cancel`, { reason: "enough" });
    expect((await again.result).content[0]?.text).toContain(id);
    expect(await run.delegation(id)).toMatchObject({ stop: { reason: "enough" } });
    expect(await run.calls(/send/i)).toBe(1);
  });

  it("a call that is open when the run ends is answered, and the token is of no use afterwards", async () => {
    await using run = await openRun();
    await using peer = run.peer(era);
    await peer.connect();
    const open = peer.call({ input: delegate("#say Busy.\n#hang") });
    const id = await run.firstWords();
    await run.host.send("/runs/run-1/cancel", { reason: "changed my mind" });
    expect(JSON.parse((await open.result).content[0]?.text ?? "")).toMatchObject({
      delegation_id: id,
      status: "cancelled",
    });
    await run.over;
    await expect(peer.call({ input: delegate("#say late") }).result).rejects.toThrow();
    await using stale = run.peer(era);
    await expect(stale.connect()).rejects.toThrow();
    expect(await run.calls(/send/i)).toBe(1);
  });

  it("a token that is missing or wrong opens nothing and tells nothing", async () => {
    await using run = await openRun();
    for (const token of ["", "wrong", run.token().slice(0, -1)]) {
      await using peer = run.peer(era, token);
      const refusal: unknown = await peer.connect().catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(Error);
      expect(String((refusal as Error).message)).not.toMatch(/research|run-1|delegate/);
    }
  });
});

it("an abort in the modern era is a closed stream, which is a detach", async () => {
  await using run = await openRun();
  await using peer = run.peer("modern");
  await peer.connect();
  const call = { input: delegate("#say Busy.\n#hang"), meta: { callId: "call-1" } };
  const first = peer.call(call);
  const id = await run.firstWords();
  await first.abort();
  await expect(first.result).rejects.toThrow();
  const again = peer.call(call);
  await peer.list();
  expect(await run.delegation(id)).toMatchObject({ status: "working" });
  await run.host.send(`/delegations/${id}/cancel`, { reason: "enough" });
  expect((await again.result).content[0]?.text).toContain(id);
  expect(await run.delegation(id)).toMatchObject({ stop: { reason: "enough" } });
});

it("an abort in the legacy era says that the call is taken back, which cancels the remote task", async () => {
  await using run = await openRun();
  await using peer = run.peer("legacy");
  await peer.connect();
  const call = peer.call({ input: delegate("#say Busy.\n#hang") });
  const id = await run.firstWords();
  await call.abort();
  await expect(call.result).rejects.toThrow();
  const cancelled = customValue(await run.until(({ event }) => event.name === "subagent.cancelled"));
  expect(cancelled).toMatchObject({
    delegationId: id,
    confirmed: true,
    reason: "the parent agent took the call back",
  });
  expect(await run.calls(/cancel/i)).toBe(1);
});
