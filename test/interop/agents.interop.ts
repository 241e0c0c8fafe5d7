import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type {
  RemoteAgent,
  RemoteCancelAnswer,
  RemoteInput,
  RemoteSignal,
} from "../../src/delegation/remote.js";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import { startCuttingProxy } from "../support/cutting-proxy.js";
import { type Program, startAgent, startModel } from "./peer.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

let model: Program;
beforeAll(async () => {
  model = await startModel();
});
afterAll(() => model.close());

const never = () => new AbortController().signal;
let messages = 0;

function remote(agentCardUrl: string, endpointUrlOverride?: string): RemoteAgent {
  const options = endpointUrlOverride === undefined ? {} : { endpointUrlOverride };
  const agent = a2a({ name: "peer", agentCardUrl, ...options });
  cleanups.push(() => agent.close());
  return agent;
}

/** Runs a task to its end; answers what is asked, and cancels at the first text if told to. */
async function run(agent: RemoteAgent, text: string, more: { answer?: RemoteInput; cancel?: boolean } = {}) {
  const signals: RemoteSignal[] = [];
  let taskId = "";
  let cancelling: Promise<RemoteCancelAnswer> | undefined;
  const messageId = `interop-${process.pid}-${++messages}`;
  const task = { delegationId: "d", messageId, text, artifacts: [], metadata: {} };
  for await (const signal of agent.start(task, never())) {
    signals.push(signal);
    if (signal.type === "accepted") taskId = signal.taskId ?? taskId;
    if (signal.type === "input_required" && more.answer)
      await agent.answer?.({ taskId }, more.answer, never());
    if (signal.type === "text" && more.cancel)
      cancelling ??= agent.cancel({ taskId }, { delegationId: "d", reason: "user" }, never());
  }
  return {
    signals,
    text: signals.map((signal) => (signal.type === "text" ? signal.delta : "")).join(""),
    asked: signals.find(({ type }) => type === "input_required"),
    last: signals.at(-1),
    cancelled: await cancelling,
  };
}

const pieces = (count: number) => Array.from({ length: count }, (_, index) => `piece ${index + 1} `).join("");
const through = (cardUrl: string, proxy: string) => new URL(new URL(cardUrl).pathname, proxy).href;

describe("Mastra 1.71", () => {
  let agent: Program;
  beforeAll(async () => {
    agent = await startAgent("mastra", model.url);
  });
  afterAll(() => agent.close());

  test("streams", async () => {
    const seen = await run(remote(agent.url), "#long 5 20");
    expect(seen.text).toBe(pieces(5));
    expect(seen.last?.type).toBe("completed");
  });

  test("a suspended tool is answered with data by its schema", async () => {
    const seen = await run(remote(agent.url), '#tool ask {"question":"Which colour?"}', {
      answer: { data: { answer: "blue" } },
    });
    expect(seen.asked).toMatchObject({
      prompt: expect.stringContaining("Which colour?"),
      schema: { required: ["answer"] },
    });
    expect(seen.text).toContain('{"answer":"blue"}');
    expect(seen.last?.type).toBe("completed");
  });

  test("an approval is given", async () => {
    const seen = await run(remote(agent.url), '#tool danger {"x":1}', {
      answer: { data: { approved: true } },
    });
    expect(seen.asked).toMatchObject({ schema: { required: ["approved"] } });
    expect(seen.text).toContain('{"done":1}');
    expect(seen.last?.type).toBe("completed");
  });

  test("a drop cancels its task, which is told", async () => {
    const proxy = await startCuttingProxy(agent.url);
    cleanups.push(() => proxy.close());
    proxy.cutAfter(3);
    const seen = await run(remote(agent.url, through(agent.url, proxy.url)), "#long 20 50");
    expect(seen.last).toMatchObject({ type: "cancelled" });
  });

  test("a cancel is confirmed, and the first final state stays", async () => {
    const seen = await run(remote(agent.url), "#long 40 50", { cancel: true });
    expect(seen.cancelled).toEqual({ outcome: "cancelled" });
    expect(seen.last?.type).toBe("cancelled");
  });
});

describe("Google ADK 2.0", () => {
  let agent: Program;
  beforeAll(async () => {
    agent = await startAgent("adk", model.url);
  });
  afterAll(() => agent.close());

  test("streams the text once, and shows its tools apart", async () => {
    const seen = await run(remote(agent.url), '#tool add {"a":1,"b":2}');
    expect(seen.text).toBe('I will use a tool. The tool said: {"sum":3}.');
    expect(seen.signals.filter(({ type }) => type.startsWith("tool.")).map(({ type }) => type)).toEqual([
      "tool.start",
      "tool.args",
      "tool.end",
      "tool.result",
    ]);
    expect(seen.signals.filter(({ type }) => type === "artifact")).toEqual([]);
    expect(seen.last?.type).toBe("completed");
  });

  test("a long-running tool is answered with words", async () => {
    const seen = await run(remote(agent.url), '#tool ask {"question":"Which colour?"}', {
      answer: { text: "blue" },
    });
    expect(seen.asked).toMatchObject({ prompt: "Which colour?" });
    expect(seen.last?.type).toBe("completed");
  });

  test("a drop is recovered from: the same text", async () => {
    const proxy = await startCuttingProxy(agent.url);
    cleanups.push(() => proxy.close());
    proxy.cutAfter(5);
    const seen = await run(remote(agent.url, through(agent.url, proxy.url)), "#long 20 50");
    expect(seen.signals).toContainEqual(expect.objectContaining({ status: "reconnecting" }));
    expect(seen.text).toBe(pieces(20));
    expect(seen.last?.type).toBe("completed");
  });

  test("a cancel is refused, and the task runs on to its end", async () => {
    const seen = await run(remote(agent.url), "#long 10 50", { cancel: true });
    expect(seen.cancelled).toMatchObject({ outcome: "pending" });
    expect(seen.text).toBe(pieces(10));
    expect(seen.last?.type).toBe("completed");
  });
});
