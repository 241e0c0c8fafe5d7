import { EventSchemas } from "@ag-ui/core/schemas";
import { describe, expect, it } from "vitest";
import { artifactOf } from "../../../test/support/delegation-inputs.js";
import type { RunEvent } from "../../core/run-event.js";
import type { SubagentChange, SubagentEvent } from "../../delegation/events.js";
import { chooseEncoder, createEncoder, encodeFrame, type SubagentEncoding } from "./encoder.js";
import type { ThreadEntry, ThreadEvent } from "./event.js";

const ENCODINGS: SubagentEncoding[] = ["custom", "native", "activity", "tool"];
const PARENT = { threadId: "thread-1", cancelledOutcome: false };
const entryOf = (event: ThreadEntry["event"]): ThreadEntry => ({
  cursor: "7",
  thread: "tenant/thread-1",
  runId: "run-1",
  time: 1_767_225_600_000,
  event,
});
const encodeWith = (encoding: SubagentEncoding, event: ThreadEntry["event"], parent = PARENT) =>
  createEncoder(encoding, parent)(entryOf(event));

/** One of each event of a run. */
const RUN_EVENTS: { readonly [Type in RunEvent["type"]]: Extract<RunEvent, { type: Type }> } = {
  "run.started": { type: "run.started", agent: "claude", messages: [{ id: "u1", text: "Hello" }] },
  "text.start": { type: "text.start", messageId: "m" },
  "text.delta": { type: "text.delta", messageId: "m", delta: "Hi" },
  "text.end": { type: "text.end", messageId: "m" },
  "reasoning.start": { type: "reasoning.start", messageId: "r" },
  "reasoning.delta": { type: "reasoning.delta", messageId: "r", delta: "Hm" },
  "reasoning.end": { type: "reasoning.end", messageId: "r" },
  "tool.start": {
    type: "tool.start",
    toolCallId: "t",
    name: "mcp__a2a-subagents__delegate_to_agent",
    server: "a2a-subagents",
    tool: "delegate_to_agent",
  },
  "tool.args": { type: "tool.args", toolCallId: "t", delta: "{}" },
  "tool.end": { type: "tool.end", toolCallId: "t" },
  "tool.result": { type: "tool.result", toolCallId: "t", content: "ok", isError: true, synthetic: true },
  "plan.updated": { type: "plan.updated", steps: [{ text: "One", status: "pending" }] },
  usage: { type: "usage", usage: { inputTokens: 1 } },
  notice: { type: "notice", level: "warning", code: "x", message: "y" },
  "approval.requested": {
    type: "approval.requested",
    approval: { approvalId: "a", kind: "permission", title: "Run?", expiresAt: 5 },
  },
  "approval.resolved": { type: "approval.resolved", approvalId: "a", decision: "deny", by: "timeout" },
  "run.finished": { type: "run.finished", text: "Done.", usage: { outputTokens: 1 } },
  "run.failed": { type: "run.failed", error: { code: "model_error", message: "no", retryable: true } },
  "run.cancelled": { type: "run.cancelled", reason: "user" },
};

const SIZES = { seen: 10, model: 5 };
const ERROR = { code: "remote_failed", message: "no", retryable: false, remoteStatus: "failed" } as const;
const CHANGES: { readonly [Type in SubagentChange["type"]]: Extract<SubagentChange, { type: Type }> } = {
  "subagent.started": {
    type: "subagent.started",
    objective: "Find out",
    correlation: "strong",
    cardFingerprint: "f",
  },
  "subagent.status": { type: "subagent.status", status: "working", message: "Reading" },
  "subagent.correlated": { type: "subagent.correlated", correlation: "medium" },
  "subagent.detached": { type: "subagent.detached" },
  "subagent.resumed": { type: "subagent.resumed" },
  "subagent.text.start": { type: "subagent.text.start", messageId: "m" },
  "subagent.text.delta": { type: "subagent.text.delta", messageId: "m", delta: "Hi" },
  "subagent.text.end": { type: "subagent.text.end", messageId: "m" },
  "subagent.reasoning.start": { type: "subagent.reasoning.start", messageId: "r" },
  "subagent.reasoning.delta": { type: "subagent.reasoning.delta", messageId: "r", delta: "Hm" },
  "subagent.reasoning.end": { type: "subagent.reasoning.end", messageId: "r" },
  "subagent.tool.start": { type: "subagent.tool.start", toolCallId: "t", name: "search" },
  "subagent.tool.args": { type: "subagent.tool.args", toolCallId: "t", delta: "{}" },
  "subagent.tool.end": { type: "subagent.tool.end", toolCallId: "t" },
  "subagent.tool.result": { type: "subagent.tool.result", toolCallId: "t", content: "ok", isError: false },
  "subagent.input_required": {
    type: "subagent.input_required",
    prompt: "Which year?",
    schema: { type: "object" },
  },
  "subagent.input_resolved": { type: "subagent.input_resolved", by: "person" },
  "subagent.artifact": { type: "subagent.artifact", artifact: artifactOf("a") },
  "subagent.finished": { type: "subagent.finished", result: { status: "completed" }, sizes: SIZES },
  "subagent.failed": { type: "subagent.failed", error: ERROR, result: {}, sizes: SIZES },
  "subagent.cancelled": {
    type: "subagent.cancelled",
    reason: "user",
    confirmed: true,
    result: {},
    sizes: SIZES,
  },
};
const IDENTITY = {
  runId: "run-1",
  parentToolCallId: "t",
  delegationId: "del-1",
  agentKey: "research",
  agentName: "Research Agent",
  protocol: "a2a",
  remoteTaskId: "task-1",
  remoteContextId: "ctx-1",
} as const;
const SUBAGENT_EVENTS = Object.values(CHANGES).map((change) => ({ ...IDENTITY, ...change }) as SubagentEvent);

describe.each(ENCODINGS)("the %s encoding", (encoding) => {
  it.each([...Object.values(RUN_EVENTS), ...SUBAGENT_EVENTS].map((event) => [event.type, event] as const))(
    "makes a valid AG-UI event of %s, or none",
    (type, event) => {
      const encoded = encodeWith(encoding, event);
      if (type === "usage") return expect(encoded).toBeUndefined();
      expect(EventSchemas.safeParse(encoded).error).toBeUndefined();
      expect(encoded?.timestamp).toBe(1_767_225_600_000);
      // What JSON leaves out would be missing at the reader.
      expect(JSON.parse(JSON.stringify(encoded))).toEqual(encoded);
    },
  );

  it("is pure: the same entry gives the same frame, whatever came before", () => {
    const encode = createEncoder(encoding, PARENT);
    const events: ThreadEvent[] = [...Object.values(RUN_EVENTS), ...SUBAGENT_EVENTS];
    const once = events.map((event) => encodeFrame(entryOf(event), encode));
    const again = events.toReversed().map((event) => encodeFrame(entryOf(event), encode));
    expect(again.toReversed()).toEqual(once);
  });
});

describe("the run's own events", () => {
  it("RUN_STARTED echoes the person's messages: a client that replays has them from nowhere else", () => {
    expect(encodeWith("custom", RUN_EVENTS["run.started"])).toMatchObject({
      type: "RUN_STARTED",
      threadId: "thread-1",
      runId: "run-1",
      input: { messages: [{ id: "u1", role: "user", content: "Hello" }] },
    });
  });

  it("a delegating tool goes by its own name; the program's name is kept", () => {
    expect(encodeWith("custom", RUN_EVENTS["tool.start"])).toMatchObject({
      toolCallName: "delegate_to_agent",
      metadata: { rawName: "mcp__a2a-subagents__delegate_to_agent" },
    });
  });

  it("the words of a native subagent are not the parent's; its tools are marked", () => {
    for (const type of [
      "text.start",
      "text.delta",
      "text.end",
      "reasoning.start",
      "reasoning.delta",
      "reasoning.end",
    ] as const)
      expect(encodeWith("custom", { ...RUN_EVENTS[type], parentToolCallId: "t" })).toBeUndefined();
    expect(encodeWith("custom", { ...RUN_EVENTS["tool.start"], parentToolCallId: "outer" })).toMatchObject({
      metadata: { parentToolCallId: "outer" },
    });
  });

  it("a cancelled run is a finished one to clients that would die of the outcome", () => {
    const cancelled = RUN_EVENTS["run.cancelled"];
    expect(encodeWith("custom", cancelled)).not.toHaveProperty("outcome");
    expect(encodeWith("custom", cancelled, { ...PARENT, cancelledOutcome: true })).toMatchObject({
      type: "RUN_FINISHED",
      outcome: { type: "cancelled" },
    });
  });

  it("no frame holds the tenant that the journal's key begins with", () => {
    for (const event of [...Object.values(RUN_EVENTS), ...SUBAGENT_EVENTS])
      expect(JSON.stringify(encodeWith("custom", event) ?? {})).not.toContain("tenant");
  });
});

describe("subagents", () => {
  it("custom: S1 section 10, camelCase, named after the event", () => {
    for (const event of SUBAGENT_EVENTS) {
      const { type, ...value } = event;
      expect(encodeWith("custom", event)).toMatchObject({ type: "CUSTOM", name: type, value });
    }
  });

  it("native: content is tagged with its subagent, and its ids are nobody else's", () => {
    for (const event of SUBAGENT_EVENTS) {
      const encoded = encodeWith("native", event);
      expect(encoded?.subagentRunId).toBe("del-1");
      for (const id of [encoded?.messageId, encoded?.toolCallId])
        if (id !== undefined) expect(id).toMatch(/^del-1\//);
    }
    const { parentToolCallId: _call, ...unknown } = { ...IDENTITY, ...CHANGES["subagent.started"] };
    expect(encodeWith("native", unknown)).not.toHaveProperty("parentToolCallId");
  });

  it("native: a cancel is an error with a code of its own, never an outcome that ends the run", () => {
    const cancelled = SUBAGENT_EVENTS.find(({ type }) => type === "subagent.cancelled");
    expect(cancelled && encodeWith("native", cancelled)).toMatchObject({
      type: "SUBAGENT_ERROR",
      code: "cancelled",
    });
  });
});

describe("a gap", () => {
  it("is told without an id: it must not move a reader's cursor", () => {
    const entry = entryOf({ type: "stream.gap", after: "3", resumesAt: "7" });
    const frame = encodeFrame(entry, createEncoder("custom", PARENT));
    expect(frame).not.toMatch(/^id:/m);
    expect(frame).toContain('"name":"stream.gap"');
    expect(encodeFrame(entryOf(RUN_EVENTS["text.start"]), createEncoder("custom", PARENT))).toMatch(
      /^id: 7\n/,
    );
  });
});

describe("case 089: the encoding is chosen per reader", () => {
  const native = (wishes: Partial<Parameters<typeof chooseEncoder>[0]>) =>
    chooseEncoder({ threadId: "t", ...wishes })(entryOf(SUBAGENT_EVENTS[0] ?? RUN_EVENTS.usage))?.type ===
    "SUBAGENT_STARTED";

  it.each([
    [{}, false],
    [{ protocolVersion: "0.0.59" }, false],
    [{ protocolVersion: "1.0" }, true],
    [{ protocolVersion: "1.0.0" }, true],
    [{ protocolVersion: "2" }, true],
    [{ protocolVersion: "nonsense" }, false],
    [{ preferred: "native" as const }, true],
    [{ protocolVersion: "1.0", preferred: "custom" as const }, false],
    [{ protocolVersion: "1.0", requested: "custom" as const }, false],
    [{ preferred: "custom" as const, requested: "native" as const }, true],
  ])("%j", (wishes, expected) => expect(native(wishes)).toBe(expected));
});
