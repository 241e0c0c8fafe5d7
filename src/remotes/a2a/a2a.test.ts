import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { RemoteAgent, RemoteSignal, RemoteTask, RemoteTaskReference } from "../../delegation/remote.js";
import { HurriedClock } from "../../testing/a2a/hurried-clock.js";
import { UNICODE_TEXT } from "../../testing/a2a/script.js";
import {
  type ScriptedAgent,
  type ScriptedAgentOptions,
  startScriptedAgent,
} from "../../testing/a2a/start.js";
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

async function start(options: ScriptedAgentOptions): Promise<ScriptedAgent> {
  const agent = await startScriptedAgent({ paceMs: 1, ...options });
  cleanups.push(() => agent.close());
  return agent;
}

async function collect(signals: AsyncIterable<RemoteSignal>): Promise<RemoteSignal[]> {
  const all: RemoteSignal[] = [];
  for await (const signal of signals) all.push(signal);
  return all;
}

const never = () => new AbortController().signal;
const textOf = (signals: readonly RemoteSignal[]) =>
  signals.map((signal) => (signal.type === "text" ? signal.delta : "")).join("");
const typesOf = (signals: readonly RemoteSignal[]) => signals.map(({ type }) => type);
function bytesOf(signals: readonly RemoteSignal[], name: string): Buffer {
  let bytes = Buffer.alloc(0);
  for (const signal of signals) {
    if (signal.type !== "artifact" || signal.chunk.name !== name) continue;
    bytes = Buffer.concat(
      signal.chunk.mode === "replace" ? [signal.chunk.bytes] : [bytes, signal.chunk.bytes],
    );
  }
  return bytes;
}

describe("a2a against a real agent", () => {
  let agent: ScriptedAgent;
  beforeAll(async () => {
    agent = await startScriptedAgent({ paceMs: 1, tenant: "acme" });
  });
  afterAll(() => agent.close());
  const run = (text: string) => collect(remote(agent.cardUrl).start(task(text), never()));

  test("describes the agent from its card", async () => {
    expect(await remote(agent.url).describe(never())).toEqual({
      name: "Research",
      description: "Searches sources, reads them and writes notes.",
      skills: [
        {
          id: "research",
          name: "Research a topic",
          description: "Reads sources on a topic and sums them up.",
        },
      ],
      streaming: true,
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test("case 116: streams status, text and a file while the agent works, and ends with its closing words", async () => {
    const signals = await run("Cache invalidation");
    expect(signals[0]).toEqual({
      type: "accepted",
      taskId: expect.stringMatching(/\S/),
      contextId: expect.stringMatching(/\S/),
    });
    expect(signals.filter(({ type }) => type === "status")).toEqual([
      { type: "status", status: "submitted" },
      { type: "status", status: "working", message: "Searching sources" },
      { type: "status", status: "working", message: "Reading three sources" },
    ]);
    expect(signals.filter(({ type }) => type === "text").length).toBeGreaterThan(20);
    expect(textOf(signals)).toMatch(
      /^Looking for what is known about \*\*Cache invalidation\*\*\. [\s\S]* out of date\.$/,
    );
    expect(signals.find(({ type }) => type === "artifact")).toMatchObject({
      chunk: { name: "cache-invalidation-notes.md", mimeType: "text/markdown", mode: "replace", last: true },
    });
    expect(bytesOf(signals, "cache-invalidation-notes.md").toString()).toContain(
      "# Notes: Cache invalidation",
    );
    expect(signals.at(-1)).toEqual({
      type: "completed",
      message: "Read three sources and wrote notes.",
    });
  });

  test("sends one message with the task's ids, metadata, artifacts, tenant and version", async () => {
    const sent = task("#say hi", {
      contextId: "context-of-ours",
      metadata: { delegationId: "d-9", lineage: ["a"] },
      artifacts: [
        { name: "in.md", mimeType: "text/markdown", bytes: Buffer.from("# ä") },
        { name: "in.bin", mimeType: "application/octet-stream", bytes: Buffer.from([255, 0]) },
      ],
    });
    const before = (await agent.seen()).length;
    const signals = await collect(remote(agent.cardUrl).start(sent, never()));
    expect(signals[0]).toMatchObject({ type: "accepted", contextId: "context-of-ours" });
    const calls = (await agent.seen()).slice(before);
    expect(calls).toEqual([
      {
        method: "SendStreamingMessage",
        params: {
          tenant: "acme",
          message: {
            messageId: sent.messageId,
            contextId: "context-of-ours",
            role: "ROLE_USER",
            parts: [
              { text: "#say hi", mediaType: "text/plain" },
              { text: "# ä", filename: "in.md", mediaType: "text/markdown" },
              { raw: "/wA=", filename: "in.bin", mediaType: "application/octet-stream" },
            ],
            metadata: { delegationId: "d-9", lineage: ["a"] },
          },
          configuration: { historyLength: 0 },
        },
        headers: expect.objectContaining({ "a2a-version": "1.0" }),
      },
    ]);
  });

  test("case 073: a fresh task sends no context of its own", async () => {
    const before = (await agent.seen()).length;
    const [accepted] = await run("#say hi");
    const [call] = (await agent.seen()).slice(before);
    expect(call?.params).not.toHaveProperty("message.contextId");
    expect(call?.params).not.toHaveProperty("message.taskId");
    expect(accepted).toHaveProperty("contextId");
  });

  test("cases 048 and 115: chunks are joined with nothing between them, whatever characters they are made of", async () => {
    expect(textOf(await run("#unicode"))).toBe(UNICODE_TEXT);
    expect(textOf(await run("#chunks 30"))).toBe(
      Array.from({ length: 30 }, (_, index) => `piece ${index + 1} `).join(""),
    );
    expect(textOf(await run("#say ha\n#say ha\n#say ha"))).toBe("hahaha");
  });

  test("a file in several chunks comes whole", async () => {
    const signals = await run("#artifact big.bin 200000\n#artifact none.txt 0");
    expect(
      signals.filter((signal) => signal.type === "artifact" && signal.chunk.name === "big.bin"),
    ).toHaveLength(4);
    const bytes = bytesOf(signals, "big.bin");
    expect(bytes).toHaveLength(200_000);
    expect(bytes.subarray(65_536, 65_540)).toEqual(
      Buffer.from(
        [65_536, 65_537, 65_538, 65_539].map(
          (index) => 32 + ((index * 7 + Math.floor(index / 95) * 13) % 95),
        ),
      ),
    );
    expect(signals).toContainEqual({
      type: "artifact",
      chunk: expect.objectContaining({
        name: "none.txt",
        mode: "replace",
        bytes: new Uint8Array(),
        last: true,
      }),
    });
  });

  test.each([
    ["#say half\n#fail No sources", { type: "failed", message: "No sources", remoteStatus: "failed" }],
    ["#reject Not mine", { type: "rejected", message: "Not mine" }],
  ])("case 108: %j does not end as success", async (text, final) => {
    expect((await run(text)).at(-1)).toEqual(final);
  });

  test("a bare message is an answer without a task", async () => {
    const signals = await run("#message Forty-two.");
    expect(typesOf(signals)).toEqual(["accepted", "text", "completed"]);
    expect(signals[0]).not.toHaveProperty("taskId");
    expect(textOf(signals)).toBe("Forty-two.");
  });

  test("asks with the agent's question, and goes on in the same iteration with the answer", async () => {
    const research = remote(agent.cardUrl);
    const before = (await agent.seen()).length;
    const signals: RemoteSignal[] = [];
    let reference: RemoteTaskReference | undefined;
    let answering: Promise<void> | undefined;
    for await (const signal of research.start(task("#say So far\n#input Which year?"), never())) {
      signals.push(signal);
      if (signal.type === "accepted") reference = { ...signal, taskId: signal.taskId ?? "" };
      if (signal.type === "input_required" && reference)
        answering = research.answer?.(reference, { text: "1999" }, never());
    }
    await answering;
    expect(signals).toContainEqual({ type: "input_required", prompt: "Which year?" });
    expect(textOf(signals)).toBe("So farYou answered: 1999");
    expect(signals.at(-1)).toEqual({ type: "completed", message: "Done." });
    const sends = (await agent.seen()).slice(before).filter(({ method }) => /Message/.test(method));
    expect(sends).toHaveLength(2);
    expect(sends[1]?.params).toMatchObject({
      tenant: "acme",
      message: {
        taskId: reference?.taskId,
        contextId: reference?.contextId,
        parts: [{ text: "1999", mediaType: "text/plain" }],
      },
    });
    await expect(research.answer?.({ taskId: "nobody" }, { text: "x" }, never())).rejects.toMatchObject({
      code: "nothing_asked",
    });
  });

  test("tells that a sign-in is needed and goes on watching", async () => {
    const signals = await run("#auth Sign in at example.test\n#say done");
    expect(signals).toContainEqual({ type: "auth_required", prompt: "Sign in at example.test" });
    expect(textOf(signals)).toBe("done");
    expect(signals.at(-1)?.type).toBe("completed");
  });

  test.each([
    ["#say one\n#drop\n#say two\n#artifact big.bin 200000\n#say three", "broke"],
    ["#say one\n#endstream\n#say two\n#artifact big.bin 200000\n#say three", "without a final state"],
  ])("case 050: %j comes whole all the same, and is sent once", async (text, words) => {
    const before = (await agent.seen()).length;
    const signals = await run(text);
    expect(textOf(signals)).toBe("onetwothree");
    expect(bytesOf(signals, "big.bin")).toHaveLength(200_000);
    expect(signals.filter((signal) => signal.type === "status" && signal.status === "reconnecting")).toEqual([
      { type: "status", status: "reconnecting", message: expect.stringContaining(words) },
    ]);
    expect(signals.at(-1)).toEqual({ type: "completed", message: "Done." });
    const methods = (await agent.seen()).slice(before).map(({ method }) => method);
    expect(methods.filter((method) => /Message/.test(method))).toHaveLength(1);
    // The look comes before anything else.
    expect(methods[1]).toBe("GetTask");
  });

  test.each(["#duplicate-terminal", "#late-terminal"])(
    "%s: only the first final state counts",
    async (directive) => {
      const signals = await run(`#say x\n${directive}`);
      expect(typesOf(signals)).toEqual(["accepted", "status", "text", "completed"]);
    },
  );

  test("cancel stops the task, with tenant, delegation and reason", async () => {
    const research = remote(agent.cardUrl);
    const stream = research.start(task("#hang"), never())[Symbol.asyncIterator]();
    const { value: accepted } = await stream.next();
    if (accepted?.type !== "accepted" || accepted.taskId === undefined) throw new Error("not accepted");
    const { taskId } = accepted;
    const answer = await research.cancel({ taskId }, { delegationId: "d-1", reason: "user" }, never());
    expect(answer).toEqual({ outcome: "cancelled" });
    const call = (await agent.seen()).findLast(({ method }) => method === "CancelTask");
    expect(call?.params).toEqual({
      tenant: "acme",
      id: taskId,
      metadata: { delegationId: "d-1", reason: "user" },
    });
    const rest: string[] = [];
    for (let next = await stream.next(); !next.done; next = await stream.next()) rest.push(next.value.type);
    expect(rest.at(-1)).toBe("cancelled");
    expect(await research.look({ taskId }, never())).toEqual({ over: true, remoteStatus: "canceled" });
  });

  test("cancel of a task that is over, or that nobody knows, says so", async () => {
    const research = remote(agent.cardUrl);
    const [accepted] = await collect(research.start(task("#say x"), never()));
    const taskId = accepted?.type === "accepted" ? (accepted.taskId ?? "") : "";
    const request = { delegationId: "d-1", reason: "user" };
    expect(await research.cancel({ taskId }, request, never())).toEqual({
      outcome: "already_over",
      remoteStatus: "completed",
    });
    expect(await research.cancel({ taskId: "no-such-task" }, request, never())).toEqual({
      outcome: "already_over",
      remoteStatus: "not-found",
    });
  });

  test("cancel of an agent that never confirms is bounded by the signal", async () => {
    const research = remote(agent.cardUrl);
    const controller = new AbortController();
    cleanups.push(() => controller.abort());
    const stream = research.start(task("#stubborn"), controller.signal)[Symbol.asyncIterator]();
    const { value: accepted } = await stream.next();
    const taskId = accepted?.type === "accepted" ? (accepted.taskId ?? "") : "";
    const bound = new AbortController();
    const answer = research.cancel({ taskId }, { delegationId: "d-1", reason: "user" }, bound.signal);
    while (
      !(await agent.seen()).some(({ method, params }) => method === "CancelTask" && id(params) === taskId)
    ) {
      // The call is on its way.
    }
    bound.abort(new Error("time is up"));
    expect(await answer).toEqual({
      outcome: "pending",
      detail: expect.stringContaining("did not answer in time"),
    });
    expect(await research.look({ taskId }, never())).toEqual({ over: false, remoteStatus: "working" });
  });

  test("case 030: an abort, or leaving early, ends the iteration and closes the connection", async () => {
    const research = remote(agent.cardUrl);
    const controller = new AbortController();
    const seen: RemoteSignal[] = [];
    for await (const signal of research.start(task("#hang"), controller.signal)) {
      seen.push(signal);
      if (signal.type === "status") controller.abort(new Error("enough"));
    }
    expect(typesOf(seen)).toEqual(["accepted", "status"]);
    for await (const signal of research.start(task("#hang"), never())) {
      expect(signal.type).toBe("accepted");
      break;
    }
    expect(await collect(research.start(task("#say x"), controller.signal))).toEqual([]);
  });
});

function id(params: unknown): unknown {
  return typeof params === "object" && params !== null && "id" in params ? params.id : undefined;
}

describe("a2a with other settings of a real agent", () => {
  test("speaks REST when that is all there is", async () => {
    const agent = await start({ binding: "rest", tenant: "acme" });
    const research = remote(agent.cardUrl);
    const signals = await collect(research.start(task("#chunks 3\n#artifact a.txt 10"), never()));
    expect(textOf(signals)).toBe("piece 1 piece 2 piece 3 ");
    expect(bytesOf(signals, "a.txt")).toHaveLength(10);
    expect(signals.at(-1)).toEqual({ type: "completed", message: "Done." });
    expect((await agent.seen()).map(({ method }) => method)).toEqual(["POST /rest/acme/message:stream"]);
    const taskId = signals[0]?.type === "accepted" ? (signals[0].taskId ?? "") : "";
    expect(await research.cancel({ taskId }, { delegationId: "d", reason: "r" }, never())).toEqual({
      outcome: "already_over",
      remoteStatus: "completed",
    });
  });

  test.each(["jsonrpc", "rest"] as const)(
    "case 056: an agent that cannot stream is polled over %s, and gives one text",
    async (binding) => {
      const agent = await start({ streaming: false, binding, paceMs: 30 });
      const clock = new HurriedClock(20);
      const research = remote(agent.cardUrl, { clock, random: () => 0.5 });
      expect((await research.describe(never())).streaming).toBe(false);
      const script = "#status Reading\n#say one \n#artifact a.bin 100000\n#say two";
      const signals = await collect(research.start(task(script), never()));
      expect(typesOf(signals)[0]).toBe("accepted");
      expect(typesOf(signals)).not.toContain("text");
      expect(bytesOf(signals, "a.bin")).toHaveLength(100_000);
      expect(signals.slice(-2)).toEqual([
        { type: "status", status: "completed", message: "Done." },
        { type: "completed", message: "onetwo" },
      ]);
      const [send, ...looks] = await agent.seen();
      expect(send?.params).toMatchObject({ configuration: { returnImmediately: true } });
      expect(looks.length).toBeGreaterThan(0);
      expect(clock.pauses[0]).toBe(250);

      const bare = await collect(research.start(task("#message Forty-two."), never()));
      expect(bare).toEqual([
        { type: "accepted", contextId: expect.any(String) },
        { type: "completed", message: "Forty-two." },
      ]);
      const failed = await collect(research.start(task("#say half\n#fail No sources"), never()));
      expect(textOf(failed)).toBe("half");
      expect(failed.at(-1)).toEqual({ type: "failed", message: "No sources", remoteStatus: "failed" });
    },
  );

  test("case 070: a card behind auth is read with the credential; a wrong one is named as such and never shown", async () => {
    const agent = await start({ token: "s3cret-token", guardCard: true });
    const right = remote(agent.cardUrl, { auth: { mode: "bearer", token: "s3cret-token" } });
    expect((await right.describe(never())).name).toBe("Research");
    expect((await collect(right.start(task("#say x"), never()))).at(-1)?.type).toBe("completed");
    expect((await agent.seen())[0]?.headers.authorization).toBe("(present)");

    const wrong = remote(agent.cardUrl, { auth: { mode: "bearer", token: "wr0ng-token" } });
    const error = await wrong.describe(never()).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: "agent_unavailable",
      retryable: false,
      message: expect.stringMatching(/HTTP 401.*auth/s),
    });
    expect(String(error)).not.toContain("wr0ng");
  });

  test("a refused credential on the call is agent_unavailable, and says what to check", async () => {
    const agent = await start({ token: "s3cret-token" });
    expect(await collect(remote(agent.cardUrl).start(task("#say x"), never()))).toEqual([
      {
        type: "failed",
        code: "agent_unavailable",
        retryable: false,
        message: expect.stringMatching(/HTTP 401.*Check the auth/s),
      },
    ]);
  });

  test("an agent that is gone is unavailable, and again there when it is back", async () => {
    const first = await start({});
    const port = Number(new URL(first.url).port);
    const research = remote(first.cardUrl, { limits: { cardMaxAgeMs: 0 } });
    await research.describe(never());
    await first.close();
    await expect(research.describe(never())).rejects.toMatchObject({
      code: "agent_unavailable",
      retryable: true,
    });
    expect(await collect(research.start(task("#say x"), never()))).toEqual([
      expect.objectContaining({ type: "failed", code: "agent_unavailable", retryable: true }),
    ]);
    await start({ port });
    expect((await collect(research.start(task("#say x"), never()))).at(-1)?.type).toBe("completed");
  });

  test("the process of an agent that dies is a disconnect", async () => {
    const agent = await start({});
    const signals: RemoteSignal[] = [];
    const dying = remote(agent.cardUrl, { limits: { recoveryMs: 0 } });
    for await (const signal of dying.start(task("#say x\n#hang"), never())) {
      signals.push(signal);
      if (signal.type === "text") process.kill(agent.pid, "SIGKILL");
    }
    expect(signals.at(-1)?.type).toBe("disconnected");
  });
});
