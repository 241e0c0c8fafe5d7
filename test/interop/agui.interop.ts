import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { RemoteCancelAnswer, RemoteInput, RemoteSignal } from "../../src/delegation/remote.js";
import { agui } from "../../src/remotes/agui/agui.js";
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
const pieces = (count: number) => Array.from({ length: count }, (_, index) => `piece ${index + 1} `).join("");
let tasks = 0;

/** Runs a task to its end; answers what is asked, and cancels at the first text if told to. */
async function run(
  url: string,
  text: string,
  more: { answer?: RemoteInput; cancel?: boolean; contextId?: string; agent?: ReturnType<typeof agui> } = {},
) {
  const agent = more.agent ?? agui({ name: "peer", url });
  if (more.agent === undefined) cleanups.push(() => agent.close());
  const delegationId = `interop-${process.pid}-${++tasks}`;
  const task = { delegationId, messageId: `m-${delegationId}`, text, artifacts: [], metadata: {} };
  const signals: RemoteSignal[] = [];
  let cancelling: Promise<RemoteCancelAnswer> | undefined;
  const context = more.contextId === undefined ? {} : { contextId: more.contextId };
  for await (const signal of agent.start({ ...task, ...context }, never())) {
    signals.push(signal);
    if (signal.type === "input_required" && more.answer)
      await agent.answer?.({ taskId: delegationId }, more.answer, never());
    if (signal.type === "text" && more.cancel)
      cancelling ??= agent.cancel({ taskId: delegationId }, { delegationId, reason: "user" }, never());
  }
  const [first] = signals;
  return {
    signals,
    contextId: first?.type === "accepted" ? first.contextId : undefined,
    text: signals.map((signal) => (signal.type === "text" ? signal.delta : "")).join(""),
    tools: signals.filter(({ type }) => type.startsWith("tool.")).map(({ type }) => type),
    asked: signals.find(({ type }) => type === "input_required"),
    last: signals.at(-1),
    cancelled: await cancelling,
  };
}

describe.each(["tanstack", "strands"] as const)("%s", (name) => {
  let agent: Program;
  beforeAll(async () => {
    agent = await startAgent(name, model.url);
  });
  afterAll(() => agent.close());

  test("streams the text once, and shows its tools apart", async () => {
    const seen = await run(agent.url, '#tool add {"a":1,"b":2}');
    expect(seen.text).toBe('I will use a tool. The tool said: {"sum":3}.');
    expect(seen.tools.filter((type) => type !== "tool.args")).toEqual([
      "tool.start",
      "tool.end",
      "tool.result",
    ]);
    expect(seen.last).toEqual({ type: "completed" });
  });

  test("an error of its model is a failure", async () => {
    expect((await run(agent.url, "#error 500")).last).toMatchObject({ type: "failed" });
  });

  test("a cancel closes the stream, and the thread can be used again", async () => {
    const remote = agui({ name: "peer", url: agent.url });
    cleanups.push(() => remote.close());
    const seen = await run(agent.url, "#long 40 50", { cancel: true, agent: remote });
    expect(seen.cancelled).toMatchObject({ outcome: "pending" });
    const { contextId } = seen;
    const more = { agent: remote, ...(contextId === undefined ? {} : { contextId }) };
    // A server may need a moment to notice that nobody reads any more.
    await expect
      .poll(async () => (await run(agent.url, "#long 2 5", more)).text, { timeout: 20_000 })
      .toBe(pieces(2));
  });

  test("a stream that is cut is lost, not a success", async () => {
    const proxy = await startCuttingProxy(agent.url);
    cleanups.push(() => proxy.close());
    proxy.cutAfter(6);
    const seen = await run(new URL("/agent", proxy.url).href, "#long 20 50");
    expect(seen.text).not.toBe(pieces(20));
    expect(seen.last?.type).toBe("disconnected");
  });
});

describe("TanStack's approvals", () => {
  let agent: Program;
  beforeAll(async () => {
    agent = await startAgent("tanstack", model.url);
  });
  afterAll(() => agent.close());

  test.each([
    [{ text: "yes" }, '{"done":1}'],
    [{ data: { approved: false } }, ""],
  ])("are asked with their schema, and answered with %j", async (answer, said) => {
    const seen = await run(agent.url, '#tool danger {"x":1}', { answer });
    expect(seen.asked).toMatchObject({ prompt: expect.stringContaining("danger") });
    expect(seen.text).toContain(said);
    expect(seen.last).toEqual({ type: "completed" });
  });
});
