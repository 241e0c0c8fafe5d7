import { TaskState } from "@a2a-js/sdk";
import { describe, expect, it } from "vitest";
import type { RunEvent } from "../../core/run-event.js";
import { TaskEncoder, type TaskUpdate } from "./encoder.js";
import type { FaceEntry } from "./face-host.js";
import { type A2aExposure, exposurePolicy } from "./options.js";

const identity = { taskId: "task-1", contextId: "context-1" };

function encoder(exposure: A2aExposure = {}, asks = true): TaskEncoder {
  return new TaskEncoder({ ...identity, exposure: exposurePolicy(exposure), asks });
}

function entry(event: RunEvent, cursor = 1): FaceEntry {
  return { cursor: String(cursor), thread: "t", runId: "task-1", time: 1_767_225_600_000, event };
}

function encodeAll(by: TaskEncoder, events: readonly RunEvent[]): TaskUpdate[] {
  return events.flatMap((event, index) => by.encode(entry(event, index + 1)));
}

const artifactsIn = (updates: readonly TaskUpdate[]) =>
  updates.flatMap((update) => (update.$case === "artifactUpdate" ? [update.value] : []));

const spoken = (messageId: string, ...deltas: string[]): RunEvent[] => [
  { type: "text.start", messageId },
  ...deltas.map((delta) => ({ type: "text.delta" as const, messageId, delta })),
  { type: "text.end", messageId },
];

describe("text", () => {
  it("is an artifact a message: the first piece replaces, the rest append, the last one says so", () => {
    const updates = artifactsIn(
      encodeAll(encoder(), [...spoken("a", "one", "two"), ...spoken("b", "three")]),
    );
    expect(
      updates.map(({ artifact, append, lastChunk }) => [artifact?.artifactId, append, lastChunk]),
    ).toEqual([
      ["assistant-output", false, false],
      ["assistant-output", true, false],
      ["assistant-output", true, false],
      ["assistant-output", true, true],
      ["assistant-output-2", false, false],
      ["assistant-output-2", true, false],
      ["assistant-output-2", true, true],
    ]);
    expect(updates.every(({ artifact }) => artifact?.name === "assistant-output")).toBe(true);
  });

  it("of the agent's own helpers is not the agent's", () => {
    const nested = spoken("n", "inner").map((event) => ({ ...event, parentToolCallId: "call" }) as RunEvent);
    expect(encodeAll(encoder(), nested)).toEqual([]);
  });

  it("is numbered alike by every reader, wherever it began", () => {
    const first = encoder();
    encodeAll(first, spoken("a", "x"));
    const late = first.fork();
    const ahead = artifactsIn(encodeAll(first, spoken("b", "x")));
    const behind = artifactsIn(encodeAll(late, spoken("b", "x")));
    expect(behind).toEqual(ahead);
  });
});

describe("the end", () => {
  it("is the result for programs, then one line for people", () => {
    const [result, status] = encoder().encode(
      entry({ type: "run.finished", text: "\nFirst line.\nSecond line." }),
    );
    expect(result).toMatchObject({
      value: {
        lastChunk: true,
        artifact: {
          artifactId: "agent-adaptor-result",
          parts: [{ content: { value: { status: "completed", summary: "\nFirst line.\nSecond line." } } }],
        },
      },
    });
    expect(status).toMatchObject({
      value: {
        status: {
          state: TaskState.TASK_STATE_COMPLETED,
          message: { parts: [{ content: { value: "First line." } }] },
          timestamp: "2026-01-01T00:00:00.000Z",
        },
      },
    });
  });

  it("holds the usage only when that may leave", () => {
    const finished: RunEvent = { type: "run.finished", text: "x", usage: { inputTokens: 5, cost: 0.1 } };
    expect(JSON.stringify(encoder().encode(entry(finished)))).not.toContain("inputTokens");
    expect(JSON.stringify(encoder({ usage: true }).encode(entry(finished)))).toContain('"inputTokens":5');
  });

  it("never holds half a character", () => {
    const text = `${"x".repeat(31_999)}\u{1f600}`;
    const json = JSON.stringify(encoder().encode(entry({ type: "run.finished", text })));
    expect(json).not.toMatch(/\\ud83d/i);
  });
});

describe("traces", () => {
  const call: RunEvent[] = [
    { type: "tool.start", toolCallId: "c", name: "mcp__files__edit", server: "files", tool: "Edit" },
    { type: "tool.args", toolCallId: "c", delta: '{"path":"a.ts",' },
    { type: "tool.args", toolCallId: "c", delta: '"new":"secret"}' },
    { type: "tool.end", toolCallId: "c" },
    { type: "tool.result", toolCallId: "c", content: "secret result", isError: true },
  ];
  const thought: RunEvent[] = [
    { type: "reasoning.start", messageId: "r" },
    { type: "reasoning.delta", messageId: "r", delta: "hm" },
    { type: "reasoning.end", messageId: "r" },
  ];
  const events = [...call, ...thought, { type: "usage", usage: { inputTokens: 1 } } as const];
  const seen = (exposure: A2aExposure) =>
    artifactsIn(encodeAll(encoder(exposure), events)).map(({ artifact }) => {
      const content = artifact?.parts[0]?.content;
      return [artifact?.name, content?.$case === "data" ? content.value : undefined];
    });

  it.each<[A2aExposure, [string, unknown][]]>([
    [{}, []],
    [
      { tools: "names" },
      [
        ["trace.mcp.start", { tool: "Edit", toolCallId: "c" }],
        ["trace.mcp", { tool: "Edit", toolCallId: "c", status: "failed" }],
      ],
    ],
    [
      { tools: "full" },
      [
        ["trace.mcp.start", { tool: "Edit", toolCallId: "c" }],
        ["trace.mcp.start", { tool: "Edit", toolCallId: "c", request: '{"path":"a.ts","new":"secret"}' }],
        ["trace.mcp", { tool: "Edit", toolCallId: "c", status: "failed", response: "secret result" }],
      ],
    ],
    [{ files: true }, [["trace.file", { tool: "Edit", toolCallId: "c", status: "failed", path: "a.ts" }]]],
    [
      { reasoning: true },
      [
        ["trace.thinking", { content: "" }],
        ["trace.thinking", { content: "hm" }],
        ["trace.thinking", { content: "" }],
      ],
    ],
    [{ usage: true }, [["trace.usage", { inputTokens: 1 }]]],
  ])("%j lets out just that", (exposure, expected) => {
    expect(seen(exposure)).toEqual(expected);
  });

  it("are marked as what they are, and cut", () => {
    const long: RunEvent = {
      type: "tool.result",
      toolCallId: "c",
      content: "y".repeat(100_000),
      isError: false,
    };
    const updates = artifactsIn(encodeAll(encoder({ tools: "full" }), [...call.slice(0, 4), long]));
    for (const { artifact } of updates) expect(artifact?.extensions).toEqual(["urn:x-a2a:trace:v1"]);
    const last = updates.at(-1)?.artifact?.parts[0]?.content;
    expect(last?.$case === "data" && last.value.response).toHaveLength(32_000);
  });

  it("find the path in arguments that were cut", () => {
    const big: RunEvent = {
      type: "tool.args",
      toolCallId: "c",
      delta: `{"file_path":"src/a b.ts","content":"${"z".repeat(40_000)}`,
    };
    const [start, , , end, result] = call;
    const updates = artifactsIn(encodeAll(encoder({ files: true }), [start, big, end, result] as RunEvent[]));
    expect(JSON.stringify(updates)).toContain('"path":"src/a b.ts"');
    expect(JSON.stringify(updates)).not.toContain("zz");
  });
});

describe("questions", () => {
  const asked = (approvalId: string): RunEvent => ({
    type: "approval.requested",
    approval: { approvalId, kind: "permission", title: `May I ${approvalId}?`, expiresAt: 0 },
  });
  const resolved = (approvalId: string): RunEvent => ({
    type: "approval.resolved",
    approvalId,
    decision: "approve",
    by: "person",
  });
  const states = (updates: readonly TaskUpdate[]) =>
    updates.map((update) => (update.$case === "statusUpdate" ? update.value.status?.state : undefined));

  it("make the task wait until the last one is answered, also for a reader that came in between", () => {
    const first = encoder();
    const before = encodeAll(first, [asked("a"), asked("b")]);
    const late = first.fork();
    const after = [resolved("a"), resolved("b")];
    expect(states(before)).toEqual([
      TaskState.TASK_STATE_INPUT_REQUIRED,
      TaskState.TASK_STATE_INPUT_REQUIRED,
    ]);
    expect(encodeAll(late, after)).toEqual(encodeAll(first, after));
    expect(states(encodeAll(encoder(), [asked("a"), asked("b"), ...after])).slice(2)).toEqual([
      TaskState.TASK_STATE_INPUT_REQUIRED,
      TaskState.TASK_STATE_WORKING,
    ]);
  });

  it("are not told to a caller who is not asked", () => {
    expect(encodeAll(encoder({}, false), [asked("a"), resolved("a")])).toEqual([]);
  });
});
