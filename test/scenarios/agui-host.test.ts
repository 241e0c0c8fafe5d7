import { afterAll, beforeAll, expect, it } from "vitest";
import type { RemoteCancelAnswer, RemoteSignal } from "../../src/delegation/remote.js";
import { agui } from "../../src/remotes/agui/agui.js";
import type { AguiOptions } from "../../src/remotes/agui/options.js";
import { HurriedClock } from "../../src/testing/a2a/hurried-clock.js";
import type { Script } from "../../src/testing/claude/script.js";
import { startRemote } from "../cli/remote.js";
import { type Command, type Folder, isGone, makeFolder, troupe } from "../cli/troupe.js";
import { startCuttingProxy } from "../support/cutting-proxy.js";
import { collect, customValue, subagentFrames, subagentText } from "../support/frames.js";
import { startTestHost } from "../support/host.js";
import { verify } from "../support/verify.js";

/** Waits until whoever tests has done what it wants in the middle. */
const SLOWLY: Script = {
  turns: [
    [
      { say: "One two three four five six seven eight nine ten.", delayMs: 40 },
      { tools: [{ name: "delegate_to_agent", input: { agent: "research", objective: "#say Found." } }] },
      { say: "It is {{result.0.summary}}", delayMs: 5 },
    ],
  ],
};
const TEXT = "One two three four five six seven eight nine ten.It is Found.";

let research: Awaited<ReturnType<typeof startRemote>>;
let folder: Folder;
let command: Command;
let url = "";
// Another host, in a process of its own, with a scripted Claude Code behind its AG-UI route.
beforeAll(async () => {
  [research, folder] = await Promise.all([startRemote({}), makeFolder()]);
  await folder.configure({ cardUrl: research.cardUrl, script: SLOWLY, config: { serve: { port: 0 } } });
  command = troupe(["serve"], { cwd: folder.path });
  await command.says("Remote    research: ready");
  url = /Console {3}(http:\/\/127\.0\.0\.1:\d+)\//.exec(command.stdout)?.[1] ?? "";
});
afterAll(async () => {
  command.child.kill("SIGTERM");
  await command.exit;
  await research[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const never = () => new AbortController().signal;
let tasks = 0;

async function run(at: string, options: Partial<AguiOptions> = {}, cancel = false) {
  const remote = agui({ name: "claude", url: `${at}/agents/claude/run`, ...options });
  const delegationId = `del-${process.pid}-${++tasks}`;
  const task = { delegationId, messageId: `m-${tasks}`, text: "Go", artifacts: [], metadata: {} };
  const signals: RemoteSignal[] = [];
  let answer: Promise<RemoteCancelAnswer> | undefined;
  for await (const signal of remote.start(task, never())) {
    signals.push(signal);
    if (cancel && signal.type === "text")
      answer ??= remote.cancel({ taskId: delegationId }, { delegationId, reason: "user" }, never());
  }
  await remote.close();
  const text = signals.map((signal) => (signal.type === "text" ? signal.delta : "")).join("");
  return { signals, text, last: signals.at(-1), cancelled: await answer };
}

it("a host's agent as an AG-UI remote: its text once, its tools, and its own subagent as a state", async () => {
  const seen = await run(url);
  expect(seen.text).toBe(TEXT);
  const others = seen.signals.filter(({ type }) => !["text", "tool.args"].includes(type));
  expect(others.map((signal) => ("message" in signal ? signal.message : signal.type))).toEqual([
    "accepted",
    "tool.start",
    "tool.end",
    "research: started",
    "research: Done.",
    "research: done",
    "tool.result",
    "completed",
  ]);
  expect(seen.last).toEqual({ type: "completed" });
});

it("a stream that is cut is gone on with after its last event: nothing twice, and no second run", async () => {
  const proxy = await startCuttingProxy(url);
  proxy.cutAfter(4);
  const seen = await run(proxy.url, { resume: "repost", clock: new HurriedClock() });
  await proxy.close();
  expect(seen.signals).toContainEqual(expect.objectContaining({ status: "reconnecting" }));
  expect(seen.text).toBe(TEXT);
  expect(seen.last).toEqual({ type: "completed" });
});

it("a stop that the host is asked for is confirmed, and its program is gone", async () => {
  const seen = await run(url, { stopUrl: `${url}/runs/{runId}/cancel` }, true);
  expect(seen.cancelled).toEqual({ outcome: "cancelled" });
  expect(seen.last).toEqual({ type: "cancelled" });
  expect(await isGone(folder.claudePid())).toBe(true);
});

it("through a second host: one stream, from the first one's model to the second one's", async () => {
  const remote = agui({ name: "colleague", url: `${url}/agents/claude/run`, title: "Colleague" });
  await using host = await startTestHost({
    script: {
      turns: [[{ tools: [{ name: "delegate_to_agent", input: { agent: "colleague", objective: "Go" } }] }]],
    },
    host: { subAgents: [remote] },
  });
  const frames = await collect(await host.post("Go"));
  await verify(frames);
  expect(subagentText(frames)).toBe(TEXT);
  const finished = subagentFrames(frames).find(({ event }) => event.name === "subagent.finished");
  expect(customValue(finished)).toMatchObject({
    protocol: "agui",
    agentName: "Colleague",
    result: { status: "completed", summary: "It is Found." },
  });
});
