import { describe, expect, it } from "vitest";
import type { SubagentChange } from "../delegation/events.js";
import type { TraceExposure } from "../wire/trace.js";
import { SidebandEncoder } from "./sideband-encoder.js";
import type { SidebandEvent } from "./sideband-event.js";
import type { ObservedEntry } from "./telemetry.js";

const TIME = 1_767_225_600_000;
const EVERYTHING: TraceExposure = { reasoning: true, tools: "full", files: true, usage: true };

function bench() {
  const encoder = new SidebandEncoder(EVERYTHING, (thread) => ({ threadId: thread.slice(1) }));
  let cursor = 0;
  const encode = (...events: ObservedEntry["event"][]): SidebandEvent[] =>
    events.flatMap((event) =>
      encoder.encode({ cursor: String(++cursor), thread: "/t", runId: "run-1", time: TIME, event }),
    );
  return { encoder, encode };
}

const started = { type: "run.started", agent: "claude", messages: [] } as const;
const finished = { type: "run.finished", text: "" } as const;
const dataOf = ({ artifact }: SidebandEvent) => artifact.parts[0].data;
/** An event of a delegation. */
const subagent = (change: SubagentChange, parentToolCallId?: string) => ({
  runId: "run-1",
  delegationId: "del-1",
  agentKey: "research",
  agentName: "Research Agent",
  protocol: "a2a" as const,
  ...(parentToolCallId === undefined ? {} : { parentToolCallId }),
  ...change,
});
const begun: SubagentChange = { type: "subagent.started", objective: "Find out", correlation: "medium" };
const over: SubagentChange = { type: "subagent.finished", result: {}, sizes: { seen: 1, model: 2 } };

describe("thoughts", () => {
  it("are gathered: not a word of thousands is an event of its own, and none is lost", () => {
    const { encode } = bench();
    const words = Array.from({ length: 3_000 }, (_, index) => `word ${index} `);
    const events = encode(
      started,
      { type: "reasoning.start", messageId: "m" },
      ...words.map((delta) => ({ type: "reasoning.delta" as const, messageId: "m", delta })),
      { type: "reasoning.end", messageId: "m" },
    );
    expect(events.length).toBeLessThan(12);
    expect(events.map((event) => dataOf(event).content).join("")).toBe(words.join(""));
    expect(events.map(({ append }) => append)).toEqual([false, ...events.slice(1).map(() => true)]);
    expect(events.map(({ lastChunk }) => lastChunk)).toEqual([...events.slice(1).map(() => false), true]);
    expect(new Set(events.map(({ artifact }) => artifact.artifactId))).toEqual(new Set(["trace.thinking-m"]));
  });

  it("and tools of a remote say whose they are, and do not mix with the run's", () => {
    const { encode } = bench();
    const own = encode(started, { type: "tool.start", toolCallId: "c", name: "Bash" });
    const remote = encode(
      subagent({ type: "subagent.tool.start", toolCallId: "c", name: "search" }),
      subagent({ type: "subagent.tool.args", toolCallId: "c", delta: '{"q":1}' }),
      subagent({ type: "subagent.tool.end", toolCallId: "c" }),
      subagent({ type: "subagent.tool.result", toolCallId: "c", content: "found", isError: true }),
      subagent({ type: "subagent.reasoning.start", messageId: "m" }),
      subagent({ type: "subagent.reasoning.delta", messageId: "m", delta: "Hm." }),
      subagent({ type: "subagent.reasoning.end", messageId: "m" }),
    );
    expect(own.map(({ metadata }) => metadata)).toEqual([{ agent: "claude" }]);
    expect(new Set(remote.map(({ metadata }) => metadata.delegationId))).toEqual(new Set(["del-1"]));
    expect(remote.map(({ artifact }) => artifact.artifactId)).toEqual([
      "trace.mcp.start-del-1-c",
      "trace.mcp.start-del-1-c",
      "trace.mcp-del-1-c",
      "trace.thinking-del-1-m",
      "trace.thinking-del-1-m",
    ]);
    expect(dataOf(remote[2] as SidebandEvent)).toMatchObject({
      tool: "search",
      status: "failed",
      response: "found",
    });
    expect(encode({ type: "tool.result", toolCallId: "c", content: "", isError: false })).toHaveLength(1);
  });
});

describe("a tool call that delegates", () => {
  it.each([
    ["by its server", { name: "delegate_to_agent", server: "a2a-subagents" }],
    ["by its full name", { name: "mcp__a2a-subagents__research__find" }],
  ])("is known at its start %s", (_how, call) => {
    const { encode } = bench();
    const [start] = encode(started, { type: "tool.start", toolCallId: "c", ...call });
    expect(dataOf(start as SidebandEvent)).toMatchObject({ toolKind: "a2a_subagent", delegation: true });
  });

  it("and has neither is known at its end, by what came of it", () => {
    const { encode } = bench();
    const events = encode(
      started,
      { type: "tool.start", toolCallId: "c", name: "subagents-delegate" },
      subagent(begun, "c"),
      subagent(over, "c"),
      { type: "tool.result", toolCallId: "c", content: "", isError: false },
    );
    const end = events.find(({ artifact }) => artifact.name === "trace.mcp");
    expect(dataOf(end as SidebandEvent)).toMatchObject({ toolKind: "a2a_subagent", delegationId: "del-1" });
  });
});

describe("how a delegation ended", () => {
  it("is told with our code, or the reason", () => {
    const { encode } = bench();
    const error = {
      code: "remote_failed",
      message: "It broke.",
      retryable: false,
      remoteStatus: "failed",
    } as const;
    const sizes = { seen: 1, model: 2 };
    const [, failed, cancelled] = encode(
      subagent(begun),
      subagent({ type: "subagent.failed", error, result: {}, sizes }),
      subagent({ type: "subagent.cancelled", reason: "user", confirmed: true, result: {}, sizes }),
    );
    expect(dataOf(failed as SidebandEvent)).toMatchObject({ status: "failed", error, sizes });
    expect(dataOf(cancelled as SidebandEvent)).toMatchObject({
      status: "cancelled",
      reason: "user",
      confirmed: true,
    });
  });
});

describe("nothing is kept", () => {
  it("of a run that is over, but as long as a delegation goes on", () => {
    const { encoder, encode } = bench();
    encode(started, { type: "tool.start", toolCallId: "c", name: "Bash" }, subagent(begun), finished);
    expect(encoder.size).toBe(1);
    encode(subagent(over));
    expect(encoder.size).toBe(0);
  });

  it("of what was open before a gap, and of runs whose beginning was not seen", () => {
    const { encoder, encode } = bench();
    encode(started, { type: "tool.start", toolCallId: "c", name: "Bash" });
    encode({ type: "stream.gap", after: "1", resumesAt: "9" });
    expect(encoder.size).toBe(0);
    encode({ type: "usage", usage: { inputTokens: 1 } }, subagent(begun), subagent(over));
    expect(encoder.size).toBe(0);
  });
});
