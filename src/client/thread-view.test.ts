import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgUiEvent } from "./event-stream.js";
import { createThreadView } from "./thread-view.js";
import { delegationsOf, type ItemView, runNeedsYou, type SubagentView, type ToolCallView } from "./view.js";

function fold(events: readonly AgUiEvent[], start = 1) {
  const reducer = createThreadView();
  for (const [index, event] of events.entries()) {
    reducer.apply({ cursor: String(start + index), event: { timestamp: 1_000 + index, ...event } });
  }
  return reducer;
}

const runStarted = (runId = "run-1", text = "Hello") => ({
  type: "RUN_STARTED",
  threadId: "t",
  runId,
  input: { messages: [{ id: `msg-${runId}`, role: "user", content: text }] },
});
const runFinished = (runId = "run-1", result: object = { status: "finished" }) => ({
  type: "RUN_FINISHED",
  runId,
  result,
});
const toolStart = (toolCallId: string, metadata: object = {}) => ({
  type: "TOOL_CALL_START",
  toolCallId,
  toolCallName: "delegate_to_agent",
  metadata: { rawName: "mcp__a2a__delegate_to_agent", ...metadata },
});
const subagent = (change: string, value: object = {}, parentToolCallId: string | null = "tool-1") => ({
  type: "CUSTOM",
  name: `subagent.${change}`,
  value: {
    runId: "run-1",
    delegationId: "del-1",
    agentKey: "research",
    agentName: "Research Agent",
    protocol: "a2a",
    ...(parentToolCallId !== null && { parentToolCallId }),
    ...value,
  },
});
const artifact = {
  id: "a1",
  name: "notes.md",
  mimeType: "text/markdown",
  uri: "host://x",
  size: 5,
  sha256: "00",
  preview: "# N",
};

const golden: AgUiEvent[] = [
  runStarted(),
  { type: "TEXT_MESSAGE_START", messageId: "m1" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "I'll ask " },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "research." },
  { type: "TEXT_MESSAGE_END", messageId: "m1" },
  toolStart("tool-1"),
  { type: "TOOL_CALL_ARGS", toolCallId: "tool-1", delta: '{"agent":' },
  { type: "TOOL_CALL_ARGS", toolCallId: "tool-1", delta: '"research"}' },
  { type: "TOOL_CALL_END", toolCallId: "tool-1" },
  subagent("started", { objective: "Find it", correlation: "strong" }),
  subagent("status", { status: "TASK_STATE_WORKING", message: "Searching sources" }),
  subagent("text.start", { messageId: "s1" }),
  subagent("text.delta", { messageId: "s1", delta: "Found " }),
  subagent("text.delta", { messageId: "s1", delta: "it." }),
  subagent("text.end", { messageId: "s1" }),
  subagent("artifact", { artifact }),
  subagent("finished", { result: { status: "completed" }, sizes: { seen: 38_000, model: 612 } }),
  { type: "TOOL_CALL_RESULT", messageId: "r1", toolCallId: "tool-1", content: '{"status":"completed"}' },
  { type: "TEXT_MESSAGE_START", messageId: "m2" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m2", delta: "Done." },
  { type: "TEXT_MESSAGE_END", messageId: "m2" },
  runFinished(),
];

function toolsOf(items: readonly ItemView[]): ToolCallView[] {
  return items.filter((item): item is ToolCallView => item.kind === "tool");
}

describe("the view of a thread", () => {
  it("folds a delegation under its tool call", () => {
    const reducer = fold(golden);
    expect(reducer.view).toMatchObject({
      cursor: "22",
      runs: [
        {
          runId: "run-1",
          status: "finished",
          userMessages: [{ id: "msg-run-1", text: "Hello" }],
          startedAt: 1_000,
          endedAt: 1_021,
          subagents: [],
          items: [
            { kind: "text", text: "I'll ask research.", done: true },
            {
              kind: "tool",
              name: "delegate_to_agent",
              rawName: "mcp__a2a__delegate_to_agent",
              arguments: '{"agent":"research"}',
              state: "done",
              result: '{"status":"completed"}',
              subagents: [
                {
                  delegationId: "del-1",
                  agentName: "Research Agent",
                  objective: "Find it",
                  state: "done",
                  statusMessage: "Searching sources",
                  items: [{ kind: "text", text: "Found it.", done: true }],
                  artifacts: [artifact],
                  result: { status: "completed" },
                  sizes: { seen: 38_000, model: 612 },
                  startedAt: 1_009,
                  endedAt: 1_016,
                },
              ],
            },
            { kind: "text", text: "Done." },
          ],
        },
      ],
    });
    expect(reducer.run("run-1")).toBe(reducer.view.runs[0]);
  });

  it("keeps the runs of a thread apart, also when a delegation's end comes after the next run began", () => {
    const reducer = fold([
      runStarted("run-1"),
      subagent("started", {}, null),
      runFinished("run-1"),
      runStarted("run-2", "Again"),
      { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Second" },
      subagent("cancelled", { reason: "run_end", confirmed: true }, null),
    ]);
    expect(reducer.view.runs.map((run) => [run.runId, run.status, run.items.length])).toEqual([
      ["run-1", "finished", 0],
      ["run-2", "running", 1],
    ]);
    expect(reducer.run("run-1")?.subagents[0]).toMatchObject({
      state: "stopped",
      confirmed: true,
      reason: "run_end",
    });
  });

  it("takes every cursor once", () => {
    const reducer = createThreadView();
    const delta = { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "a" };
    for (const cursor of ["1", "2", "2", "1", "10"])
      reducer.apply({ cursor, event: cursor === "1" ? runStarted() : delta });
    expect(reducer.view.runs[0]?.items).toMatchObject([{ text: "aa" }]);
    expect(reducer.view.cursor).toBe("10");
  });

  it("moves an unclaimed delegation under its tool call when that becomes known, from either side", () => {
    const late = fold([
      runStarted(),
      subagent("started", {}, null),
      subagent("text.delta", { messageId: "s", delta: "x" }, null),
      toolStart("tool-1"),
    ]);
    expect(late.view.runs[0]?.subagents).toHaveLength(1);
    late.apply({ cursor: "90", event: subagent("correlated", { correlation: "medium" }) });
    expect(late.view.runs[0]?.subagents).toHaveLength(0);
    expect(toolsOf(late.view.runs[0]?.items ?? [])[0]?.subagents).toMatchObject([{ items: [{ text: "x" }] }]);

    const early = fold([runStarted(), subagent("started"), toolStart("tool-1")]);
    expect(early.view.runs[0]?.subagents).toHaveLength(0);
    expect(toolsOf(early.view.runs[0]?.items ?? [])[0]?.subagents).toHaveLength(1);
  });

  it("keeps two delegations in parallel apart (case 087)", () => {
    const other = { delegationId: "del-2", agentKey: "painter" };
    const reducer = fold([
      runStarted(),
      toolStart("tool-1"),
      toolStart("tool-2"),
      subagent("started"),
      subagent("started", other, "tool-2"),
      subagent("text.delta", { messageId: "s", delta: "one" }),
      subagent("text.delta", { ...other, messageId: "s", delta: "two" }, "tool-2"),
      subagent("text.delta", { messageId: "s", delta: "+" }),
    ]);
    const texts = toolsOf(reducer.view.runs[0]?.items ?? []).map((tool) =>
      tool.subagents.map((s) => s.items.map((i) => (i.kind === "tool" ? "" : i.text))),
    );
    expect(texts).toEqual([[["one+"]], [["two"]]]);
  });

  it("nests what a program's own subagent says and does under the call that started it", () => {
    const reducer = fold([
      runStarted(),
      toolStart("task"),
      { type: "TEXT_MESSAGE_START", messageId: "n1", metadata: { parentToolCallId: "task" } },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "n1", delta: "inside" },
      toolStart("inner", { parentToolCallId: "task" }),
    ]);
    const [task] = toolsOf(reducer.view.runs[0]?.items ?? []);
    expect(reducer.view.runs[0]?.items).toHaveLength(1);
    expect(task?.items).toMatchObject([
      { kind: "text", text: "inside" },
      { kind: "tool", id: "inner" },
    ]);
  });

  const subagentOf = (...events: AgUiEvent[]): SubagentView | undefined =>
    fold([
      runStarted(),
      toolStart("tool-1"),
      subagent("started", { objective: "o" }),
      ...events,
    ]).view.runs.flatMap(delegationsOf)[0];

  it.each<[string, AgUiEvent[], string]>([
    ["nothing yet", [], "starting"],
    ["submitted", [subagent("status", { status: "submitted" })], "starting"],
    ["any other word of a remote", [subagent("status", { status: "brewing" })], "working"],
    ["text before any status", [subagent("text.delta", { messageId: "s", delta: "x" })], "working"],
    ["input-required", [subagent("status", { status: "input-required" })], "needs_you"],
    ["a question", [subagent("input_required", { prompt: "Which?" })], "needs_you"],
    ["an answer", [subagent("input_required"), subagent("input_resolved")], "working"],
    [
      "a cancel that is not confirmed",
      [subagent("status", { status: "cancel_pending" }), subagent("status", { status: "working" })],
      "stopping",
    ],
    ["its end", [subagent("finished", { result: {} })], "done"],
    ["its failure", [subagent("failed", { error: { code: "remote_failed" } })], "failed"],
    ["its cancel", [subagent("cancelled", { reason: "user" })], "stopped"],
    ["the end of the run", [runFinished()], "stopped"],
  ])("a subagent's state after %s", (_, events, state) => {
    expect(subagentOf(...events)?.state).toBe(state);
  });

  it("takes a subagent's first end and ignores what follows (case 108)", () => {
    const seen = subagentOf(
      subagent("failed", {
        error: { code: "remote_rejected", message: "No.", retryable: false, remoteStatus: "rejected" },
        result: { status: "failed" },
      }),
      subagent("finished", { result: { status: "completed" } }),
      subagent("text.delta", { messageId: "s", delta: "late" }),
    );
    expect(seen).toMatchObject({
      state: "failed",
      error: { code: "remote_rejected", message: "No.", remoteStatus: "rejected" },
      result: { status: "failed" },
      items: [],
    });
  });

  it("replaces an artifact of the same id at its place", () => {
    const seen = subagentOf(
      subagent("artifact", { artifact }),
      subagent("artifact", { artifact: { ...artifact, id: "a2" } }),
      subagent("artifact", { artifact: { ...artifact, size: 9 } }),
    );
    expect(seen?.artifacts.map(({ id, size }) => [id, size])).toEqual([
      ["a1", 9],
      ["a2", 5],
    ]);
  });

  it("shows a subagent's own tools", () => {
    const seen = subagentOf(
      subagent("tool.start", { toolCallId: "x", name: "search" }),
      subagent("tool.args", { toolCallId: "x", delta: "{}" }),
      subagent("tool.end", { toolCallId: "x" }),
      subagent("tool.result", { toolCallId: "x", content: "none", isError: true }),
      subagent("tool.start", { toolCallId: "y", name: "read" }),
      subagent("cancelled", { reason: "user" }),
    );
    expect(seen?.items).toMatchObject([
      { kind: "tool", name: "search", arguments: "{}", state: "failed", result: "none" },
      { kind: "tool", name: "read", state: "stopped" },
    ]);
  });

  it("ends a run by its terminal event and closes what was left open", () => {
    const cancelled = fold([
      runStarted(),
      toolStart("tool-1"),
      { type: "TEXT_MESSAGE_START", messageId: "m" },
      runFinished("run-1", { status: "cancelled", reason: "user" }),
    ]);
    expect(cancelled.view.runs[0]).toMatchObject({
      status: "cancelled",
      reason: "user",
      items: [{ state: "stopped" }, { done: true }],
    });
    const failed = fold([
      runStarted(),
      { type: "RUN_ERROR", message: "No login", code: "not_authenticated" },
      runFinished(),
    ]);
    expect(failed.view.runs[0]).toMatchObject({
      status: "failed",
      error: { code: "not_authenticated", message: "No login" },
    });
    const synthetic = fold([
      runStarted(),
      toolStart("tool-1"),
      {
        type: "TOOL_CALL_RESULT",
        toolCallId: "tool-1",
        content: "",
        metadata: { isError: true, synthetic: true },
      },
    ]);
    expect(synthetic.view.runs[0]?.items).toMatchObject([{ state: "stopped" }]);
  });

  it("says that a run's end was never recorded when the next one begins", () => {
    const reducer = fold([runStarted("run-1"), toolStart("tool-1"), runStarted("run-2")]);
    expect(reducer.view.runs).toMatchObject([
      { status: "failed", error: { code: "lost" } },
      { status: "running" },
    ]);
  });

  it("keeps approvals with the call they are about, until they are decided", () => {
    const request = {
      approvalId: "app-1",
      kind: "permission",
      toolCallId: "tool-1",
      tool: "Bash",
      title: "Run ls",
      input: { command: "ls" },
      expiresAt: 9_000,
    };
    const reducer = fold([
      runStarted(),
      toolStart("tool-1"),
      { type: "CUSTOM", name: "approval.requested", value: request },
    ]);
    const run = reducer.view.runs[0];
    expect(run && runNeedsYou(run)).toBe(true);
    expect(toolsOf(run?.items ?? [])[0]?.approvals).toMatchObject([{ request }]);
    reducer.apply({
      cursor: "90",
      event: {
        type: "CUSTOM",
        name: "approval.resolved",
        value: { approvalId: "app-1", decision: "approve", by: "person" },
      },
    });
    expect(run?.approvals).toMatchObject([{ decision: "approve", by: "person" }]);
    expect(run && runNeedsYou(run)).toBe(false);
  });

  it("shows plan, notices and gaps", () => {
    const reducer = fold([
      runStarted(),
      {
        type: "CUSTOM",
        name: "plan.updated",
        value: { steps: [{ text: "Look", status: "in_progress" }, 3] },
      },
      {
        type: "CUSTOM",
        name: "notice",
        value: { level: "warning", code: "api_retry", message: "Trying again" },
      },
      { type: "CUSTOM", name: "stream.gap", value: { after: "3", resumesAt: "9" } },
      { type: "SOMETHING_NEW" },
    ]);
    expect(reducer.view).toMatchObject({
      gaps: [{ after: "3", resumesAt: "9" }],
      runs: [
        {
          plan: [
            { text: "Look", status: "in_progress" },
            { text: "", status: "pending" },
          ],
          notices: [{ level: "warning", message: "Trying again" }],
        },
      ],
    });
  });

  it("shows a run whose beginning was trimmed, and names it when something does", () => {
    const reducer = fold([
      { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "tail" },
      runFinished("run-7"),
      runStarted("run-8"),
    ]);
    expect(reducer.view.runs.map((run) => [run.runId, run.status])).toEqual([
      ["run-7", "finished"],
      ["run-8", "running"],
    ]);
  });

  it("marks only the path to what changed, and copies nothing", () => {
    const reducer = fold([...golden.slice(0, 12), runStarted("run-1")]);
    const run = reducer.view.runs[0];
    const tool = toolsOf(run?.items ?? [])[0];
    const nested = tool?.subagents[0];
    const message = run?.items[0];
    const items = run?.items;
    const before = [reducer.view, run, tool, nested, message].map((node) => node?.version ?? -1);
    reducer.apply({ cursor: "90", event: subagent("text.delta", { messageId: "s1", delta: "x" }) });
    const after = [reducer.view, run, tool, nested, message].map((node) => node?.version ?? -1);
    expect(after.map((version, index) => version > (before[index] ?? 0))).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    expect(reducer.view.runs[0]?.items).toBe(items);
    expect(tool?.subagents[0]).toBe(nested);
  });
});

const anyId = fc.constantFrom("run-1", "run-2", "tool-1", "tool-2", "m1", "del-1", "");
const anyEvent: fc.Arbitrary<AgUiEvent> = fc.oneof(
  fc.constantFrom(...golden),
  fc.record({
    type: fc.constantFrom(
      ...new Set(golden.map((event) => event.type)),
      "RUN_ERROR",
      "REASONING_MESSAGE_CONTENT",
      "NEW",
    ),
    runId: fc.option(anyId),
    toolCallId: fc.option(anyId),
    messageId: fc.option(anyId),
    delta: fc.anything(),
    content: fc.anything(),
    metadata: fc.anything(),
    input: fc.anything(),
    result: fc.anything(),
    name: fc.constantFrom(
      "subagent.finished",
      "subagent.text.delta",
      "subagent.artifact",
      "approval.requested",
      "approval.resolved",
      "plan.updated",
      "stream.gap",
      "notice",
      "odd",
    ),
    value: fc.oneof(
      fc.anything(),
      fc.record({
        runId: fc.option(anyId),
        delegationId: anyId,
        parentToolCallId: fc.option(anyId),
        approvalId: anyId,
        artifact: fc.anything(),
        error: fc.anything(),
        steps: fc.anything(),
      }),
    ),
  }),
);

describe("the view of a thread, whatever comes", () => {
  it("never throws, and holds every delegation in exactly one place", () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }), (events) => {
        const { view } = fold(events);
        const ids = view.runs.flatMap((run) =>
          delegationsOf(run).map((s) => `${run.runId}/${s.delegationId}`),
        );
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });

  it("is the same after any reconnect that sends again what was seen", () => {
    fc.assert(
      fc.property(fc.nat(golden.length), fc.nat(golden.length), (lost, again) => {
        const reducer = createThreadView();
        const send = (from: number, to: number) => {
          for (let index = from; index < to; index++) {
            reducer.apply({
              cursor: String(index + 1),
              event: { timestamp: 1_000 + index, ...(golden[index] ?? { type: "NONE" }) },
            });
          }
        };
        send(0, lost);
        send(Math.max(0, lost - again), golden.length);
        expect(reducer.view).toEqual(fold(golden).view);
      }),
    );
  });

  it("is the same when adjacent deltas arrive merged (case 048)", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 20 }), fc.nat(19), (deltas, cut) => {
        const textOf = (parts: readonly string[]) => {
          const events = parts.map((delta) => subagent("text.delta", { messageId: "s", delta }));
          const [nested] = fold([runStarted(), toolStart("tool-1"), ...events]).view.runs.flatMap(
            delegationsOf,
          );
          return nested?.items.map((item) => (item.kind === "tool" ? "" : item.text));
        };
        const merged = [deltas.slice(0, cut).join(""), ...deltas.slice(cut)];
        expect(textOf(merged)).toEqual(textOf(deltas));
      }),
    );
  });
});
