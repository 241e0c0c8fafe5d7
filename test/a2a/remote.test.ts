import { afterEach, describe, expect, test } from "vitest";
import type { RemoteAgent, RemoteSignal, RemoteTask } from "../../src/delegation/remote.js";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import type { A2aOptions } from "../../src/remotes/a2a/options.js";
import { HurriedClock } from "../../src/testing/a2a/hurried-clock.js";
import { startScriptedAgent } from "../../src/testing/a2a/start.js";
import { startLegacyAgent } from "../support/a2a-v03/start.js";
import { startCuttingProxy } from "../support/cutting-proxy.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const kept = <T extends { close(): Promise<void> }>(thing: T): T => {
  cleanups.push(() => thing.close());
  return thing;
};
let messages = 0;
const task = (text: string): RemoteTask => ({
  delegationId: "d-1",
  messageId: `m-${++messages}`,
  text,
  artifacts: [],
  metadata: { delegationId: "d-1" },
});
const remote = (agentCardUrl: string, more: Partial<A2aOptions> = {}): RemoteAgent =>
  kept(a2a({ name: "research", agentCardUrl, clock: new HurriedClock(20), ...more }));
const never = () => new AbortController().signal;

async function run(agent: RemoteAgent, text: string, answer?: string): Promise<RemoteSignal[]> {
  const signals: RemoteSignal[] = [];
  let taskId = "";
  for await (const signal of agent.start(task(text), never())) {
    signals.push(signal);
    if (signal.type === "accepted") taskId = signal.taskId ?? taskId;
    if (signal.type === "input_required" && answer !== undefined)
      await agent.answer?.({ taskId }, { text: answer }, never());
  }
  return signals;
}

/** The text, the files and the end, whichever way they came. */
function result(signals: readonly RemoteSignal[]) {
  const files: Record<string, number> = {};
  let text = "";
  for (const signal of signals) {
    if (signal.type === "text") text += signal.delta;
    if (signal.type !== "artifact") continue;
    const { name = "", mode, bytes } = signal.chunk;
    files[name] = (mode === "replace" ? 0 : (files[name] ?? 0)) + bytes.length;
  }
  const last = signals.at(-1);
  const ends = signals.filter(({ type }) =>
    ["completed", "failed", "rejected", "cancelled", "disconnected"].includes(type),
  );
  if (text === "" && last?.type === "completed") text = last.message ?? "";
  return { text, files, end: last?.type, ends: ends.length };
}
/** The events that are no deltas. */
const events = (signals: readonly RemoteSignal[]) =>
  signals
    .filter(({ type }) => type !== "text" && type !== "artifact")
    .map((signal) => (signal.type === "status" ? (signal.message ?? signal.status) : signal.type));

describe("parity: one script through version 1.0, version 0.3 and polling", () => {
  test.each([
    "#status Reading\n#say one \n#say two\n#artifact notes.md 100000\n#artifact b.bin 10",
    "#say half\n#fail No sources",
    "#reject Not mine",
    "#message Only a message.",
    "#unicode",
  ])("%j", async (script) => {
    const modern = kept(await startScriptedAgent({ paceMs: 2 }));
    const polled = kept(await startScriptedAgent({ paceMs: 2, streaming: false }));
    const legacy = kept(await startLegacyAgent());
    const legacyPolled = kept(await startLegacyAgent({ streaming: false }));
    const expected = await run(remote(modern.cardUrl), script);
    const old = await run(remote(legacy.cardUrl), script);
    expect(result(old)).toEqual(result(expected));
    expect(events(old)).toEqual(events(expected));
    expect((await legacy.seen()).map(({ method }) => method)).toEqual(["message/stream"]);
    for (const agent of [polled, legacyPolled]) {
      const signals = await run(remote(agent.cardUrl), script);
      expect(result(signals)).toEqual(result(expected));
    }
    expect((await legacyPolled.seen())[0]).toMatchObject({
      method: "message/send",
      params: { configuration: { blocking: false } },
    });
  });
});

describe("version 0.3 by its own SDK", () => {
  test("a question is answered on the same task; the follow-up begins without it", async () => {
    const agent = kept(await startLegacyAgent());
    const signals = await run(remote(agent.cardUrl), "#say So far \n#input Which year?", "1999");
    expect(signals).toContainEqual({ type: "input_required", prompt: "Which year?" });
    expect(result(signals)).toMatchObject({ text: "So farYou answered: 1999", end: "completed", ends: 1 });
    const [first, second] = (await agent.seen()).filter(({ method }) => method === "message/stream");
    expect(first?.params.message).toMatchObject({ kind: "message", role: "user" });
    expect(first?.params.message).not.toHaveProperty("taskId");
    expect(second?.params.message).toMatchObject({
      taskId: expect.any(String),
      contextId: expect.any(String),
    });
  });

  test.each(["#drop", "#endstream"])("a stream lost by %s is found again", async (way) => {
    const agent = kept(await startLegacyAgent());
    const script = `#say one\n${way}\n#say two\n#artifact a.bin 100000\n#say three`;
    const signals = await run(remote(agent.cardUrl), script);
    expect(result(signals)).toEqual({
      text: "onetwothree",
      files: { "a.bin": 100_000 },
      end: "completed",
      ends: 1,
    });
    expect((await agent.seen()).filter(({ method }) => method === "message/stream")).toHaveLength(1);
  });

  test("cancel, look, and a send to a task that is over", async () => {
    const agent = kept(await startLegacyAgent());
    const research = remote(agent.cardUrl);
    const signals: RemoteSignal[] = [];
    let taskId = "";
    let cancelled: unknown;
    for await (const signal of research.start(task("#say x\n#hang"), never())) {
      signals.push(signal);
      if (signal.type === "accepted") taskId = signal.taskId ?? "";
      if (signal.type === "status" && signal.message === "Working without end")
        cancelled = await research.cancel({ taskId }, { delegationId: "d", reason: "user" }, never());
    }
    expect(cancelled).toEqual({ outcome: "cancelled" });
    expect(signals.at(-1)?.type).toBe("cancelled");
    expect(await research.look({ taskId }, never())).toEqual({ over: true, remoteStatus: "canceled" });
    expect(await research.cancel({ taskId }, { delegationId: "d", reason: "user" }, never())).toEqual({
      outcome: "cancelled",
    });
  });
});

describe("a real agent behind a proxy that cuts", () => {
  const script = "#status Reading\n#chunks 12\n#artifact a.bin 200000\n#status Writing\n#chunks 3";
  test.each([
    ["version 1.0", startScriptedAgent.bind(undefined, { paceMs: 3 })],
    ["version 0.3", startLegacyAgent],
  ])("%s: cut before every third event, the same result and one send", async (_name, start) => {
    const agent = kept(await start());
    const expected = result(await run(remote(agent.cardUrl), script));
    const proxy = kept(await startCuttingProxy(agent.url));
    const research = remote(agent.cardUrl, { endpointUrlOverride: proxyUrl(agent.cardUrl, proxy.url) });
    for (let count = 1; count <= 22; count += 3) {
      const before = (await agent.seen()).length;
      proxy.cutAfter(count);
      const signals = await run(research, script);
      expect({ count, ...result(signals) }).toEqual({ count, ...expected });
      const sent = (await agent.seen()).slice(before).filter(({ method }) => /stream/i.test(method));
      expect(sent).toHaveLength(1);
      expect(signals).toContainEqual(expect.objectContaining({ status: "reconnecting" }));
    }
  });
});

/** The card is fetched through the proxy, and so its interfaces are called there. */
function proxyUrl(cardUrl: string, proxy: string): string {
  return new URL(new URL(cardUrl).pathname, proxy).href;
}
