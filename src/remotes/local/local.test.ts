import { afterEach, expect, test } from "vitest";
import { agentOf, FINISHED, type Play, say, untilAborted } from "../../../test/support/fake-agent.js";
import type { AgentOptions } from "../../core/agent.js";
import { TroupeError } from "../../core/errors.js";
import type { RunEvent } from "../../core/run-event.js";
import type { RemoteInput, RemoteSignal, RemoteTask } from "../../delegation/remote.js";
import { local } from "./local.js";
import type { LocalHost, LocalRunRequest } from "./local-host.js";

const aborts: AbortController[] = [];
afterEach(() => {
  for (const abort of aborts.splice(0)) abort.abort();
});
function never(): AbortSignal {
  const abort = new AbortController();
  aborts.push(abort);
  return abort.signal;
}

const TASK: RemoteTask = {
  delegationId: "del-1",
  messageId: "m-1",
  run: { runId: "run-1", tenant: "acme" },
  text: "Look around.",
  artifacts: [],
  metadata: { troupe: { lineage: [] } },
};

/** A host whose only agent does what a function says. */
function hostOf(play: Play, options: AgentOptions = {}) {
  const { agent, requests } = agentOf(play, options);
  const started: LocalRunRequest[] = [];
  const host: LocalHost = {
    describe: (key) => {
      if (key !== "fake") throw new TroupeError("agent_not_found", "There is none.");
      return { name: agent.name, driver: "fake" };
    },
    start(request) {
      started.push(request);
      const { runId, threadId, prompt, metadata } = request;
      const run = agent.run(prompt, { runId, thread: threadId, metadata });
      return { run, events: () => run.events };
    },
  };
  return {
    remote: local({ name: "helper", agent: "fake", description: "Looks around." })(host),
    started,
    requests,
  };
}

async function collect(
  signals: AsyncIterable<RemoteSignal>,
  on: (signal: RemoteSignal) => unknown = () => undefined,
): Promise<RemoteSignal[]> {
  const all: RemoteSignal[] = [];
  for await (const signal of signals) {
    all.push(signal);
    await on(signal);
  }
  return all;
}

test("what a run does becomes signals: its words, thoughts, tools and end, each once", async () => {
  const { remote, started } = hostOf((sink) => {
    sink.emit({ type: "reasoning.start", messageId: "r" });
    sink.emit({ type: "reasoning.delta", messageId: "r", delta: "Hm." });
    sink.emit({ type: "reasoning.end", messageId: "r" });
    sink.emit({ type: "tool.start", toolCallId: "t", name: "mcp__x__search", server: "x", tool: "search" });
    sink.emit({ type: "tool.args", toolCallId: "t", delta: "{}" });
    sink.emit({ type: "tool.end", toolCallId: "t" });
    sink.emit({ type: "tool.result", toolCallId: "t", content: "found", isError: false });
    sink.emit({ type: "text.start", messageId: "n", parentToolCallId: "t" });
    sink.emit({ type: "text.delta", messageId: "n", delta: "a native subagent's", parentToolCallId: "t" });
    sink.emit({ type: "text.end", messageId: "n" });
    say(sink, "There it is.");
    return FINISHED;
  });
  expect(await collect(remote.start(TASK, never()))).toEqual([
    { type: "accepted", taskId: "del-1-run", contextId: expect.stringMatching(/^local-helper-/) },
    { type: "reasoning", messageId: "r", delta: "Hm." },
    { type: "tool.start", toolCallId: "t", name: "search" },
    { type: "tool.args", toolCallId: "t", delta: "{}" },
    { type: "tool.end", toolCallId: "t" },
    { type: "tool.result", toolCallId: "t", content: "found", isError: false },
    { type: "text", messageId: "m1", delta: "There it is." },
    { type: "completed", message: "There it is." },
  ]);
  expect(started).toMatchObject([{ agent: "fake", caller: TASK.run, metadata: TASK.metadata }]);
});

test("a failed run says why in a delegation's words", async () => {
  const missing = new TroupeError("program_missing", "There is no such program.");
  const { remote } = hostOf(() => ({ status: "failed", error: missing as never }));
  expect((await collect(remote.start(TASK, never()))).at(-1)).toEqual({
    type: "failed",
    code: "agent_unavailable",
    message: "There is no such program.",
    retryable: false,
    remoteStatus: "program_missing",
  });
});

const askFor: Play = async (sink, { signal }) => {
  const decision = await sink.approve(
    {
      kind: "permission",
      tool: "Bash",
      title: "Run ls?",
      input: { command: "ls" },
    },
    signal,
  );
  say(sink, JSON.stringify(decision));
  return FINISHED;
};

test.each<[string, RemoteInput, string]>([
  ["words that approve", { text: "yes, please" }, '"decision":"approve"'],
  ["words that do not", { text: "Use dir instead." }, '"decision":"deny","message":"Use dir instead."'],
  ["data that approves", { data: { approved: true } }, '"decision":"approve"'],
  ["data that says why not", { data: { approved: false, message: "No." } }, '"deny","message":"No."'],
  ["data that says nothing about it", { data: { ok: 1 } }, '"decision":"deny"'],
])("an approval is a question: %s", async (_what, input, expected) => {
  const { remote } = hostOf(askFor);
  const signals = await collect(remote.start(TASK, never()), async (signal) => {
    if (signal.type === "input_required") await remote.answer?.({ taskId: "del-1-run" }, input, never());
  });
  expect(signals.filter(({ type }) => type === "input_required")).toEqual([
    {
      type: "input_required",
      prompt: 'Run ls?\n{"command":"ls"}',
      schema: expect.objectContaining({ required: ["approved"] }),
    },
  ]);
  const text = signals.map((signal) => (signal.type === "text" ? signal.delta : "")).join("");
  expect(text).toContain(expected);
  await expect(remote.answer?.({ taskId: "del-1-run" }, input, never())).rejects.toMatchObject({
    code: "nothing_asked",
  });
});

test("two approvals at once are asked one after the other", async () => {
  const { remote } = hostOf(async (sink, { signal }) => {
    const ask = (title: string) => sink.approve({ kind: "question", title }, signal);
    const answers = await Promise.all([ask("One?"), ask("Two?")]);
    say(sink, answers.map(({ input }) => String(input)).join(" "));
    return FINISHED;
  });
  let count = 0;
  const signals = await collect(remote.start(TASK, never()), async (signal) => {
    if (signal.type === "input_required")
      await remote.answer?.({ taskId: "del-1-run" }, { text: String(++count) }, never());
  });
  expect(signals.flatMap((signal) => (signal.type === "input_required" ? [signal.prompt] : []))).toEqual([
    "One?",
    "Two?",
  ]);
  expect(signals).toContainEqual({ type: "text", messageId: "m1", delta: "1 2" });
});

test("a cancel ends the run, and is confirmed when its program is gone", async () => {
  let gone = false;
  const { remote } = hostOf(async (_sink, request) => {
    await untilAborted(request);
    gone = true;
    return { status: "cancelled" };
  });
  const request = { delegationId: "del-1", reason: "user" };
  const reference = { taskId: "del-1-run" };
  let answer: unknown;
  const signals = await collect(remote.start(TASK, never()), async (signal) => {
    if (signal.type !== "accepted") return;
    expect(await remote.look(reference, never())).toEqual({ over: false, remoteStatus: "working" });
    answer = remote.cancel(reference, request, never());
  });
  expect(await answer).toEqual({ outcome: "cancelled" });
  expect(gone).toBe(true);
  expect(signals.at(-1)).toMatchObject({ type: "cancelled" });
  expect(await remote.look(reference, never())).toMatchObject({ over: true });
  expect(await remote.cancel(reference, request, never())).toMatchObject({ outcome: "already_over" });
});

test("who stops following stops the run: nobody else knows of it", async () => {
  let reason: unknown;
  const ended = new Promise<void>((resolve) => {
    const { remote } = hostOf(async (_sink, request) => {
      await untilAborted(request);
      reason = request.signal.reason;
      resolve();
      return { status: "cancelled" };
    });
    void (async () => {
      for await (const { type } of remote.start(TASK, never())) if (type === "accepted") break;
    })();
  });
  await ended;
  expect(reason).toBe("nobody follows it any more");
});

test("a conversation that it did not begin cannot be gone on with, and files must be text", async () => {
  const { remote, started } = hostOf(() => FINISHED);
  const other = { ...TASK, contextId: "thread-of-a-person" };
  expect(await collect(remote.start(other, never()))).toMatchObject([
    { type: "failed", code: "policy_denied" },
  ]);
  const binary = { name: "a.bin", mimeType: "application/octet-stream", bytes: new Uint8Array([255, 254]) };
  expect(await collect(remote.start({ ...TASK, artifacts: [binary] }, never()))).toMatchObject([
    { type: "failed", code: "capability_unsupported" },
  ]);
  expect(started).toEqual([]);
  const text = { name: "a.md", mimeType: "text/markdown", bytes: new TextEncoder().encode("# A") };
  await collect(remote.start({ ...TASK, contextId: "local-helper-1", artifacts: [text] }, never()));
  expect(started[0]).toMatchObject({ threadId: "local-helper-1", prompt: expect.stringContaining("# A") });
});

test("it describes what the entry says, and refuses an agent that is not there", async () => {
  const { remote } = hostOf(() => FINISHED);
  expect(await remote.describe(never())).toMatchObject({
    name: "fake",
    description: "Looks around.",
    streaming: true,
    fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});

test("events of the run's own delegations are lines of its state, and nothing else", async () => {
  const { remote } = hostOf(() => FINISHED);
  void remote;
  const events: RunEvent[] = [{ type: "run.started", agent: "a", messages: [] }];
  const nested = {
    type: "subagent.status",
    status: "working",
    message: "Reading",
    runId: "r",
    delegationId: "d2",
    agentKey: "k",
    agentName: "Research",
    protocol: "a2a",
  } as const;
  const host: LocalHost = {
    describe: () => ({ name: "a", driver: "d" }),
    start: () => ({
      run: { cancel: async () => undefined, decide: () => false },
      async *events() {
        yield* events;
        yield nested;
        yield { ...nested, type: "subagent.text.delta", messageId: "m", delta: "not its words" };
        yield { type: "run.finished", text: "" };
      },
    }),
  };
  expect(await collect(local({ name: "helper", agent: "a" })(host).start(TASK, never()))).toEqual([
    expect.objectContaining({ type: "accepted" }),
    { type: "status", status: "working", message: "Research: Reading" },
    { type: "completed" },
  ]);
});
