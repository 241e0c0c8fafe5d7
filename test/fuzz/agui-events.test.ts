import { expect, it } from "vitest";
import { reduce } from "../../src/delegation/delegation.js";
import { newDelegation } from "../../src/delegation/delegation-state.js";
import { isSubagentTerminal, type SubagentEvent } from "../../src/delegation/events.js";
import type { RemoteSignal } from "../../src/delegation/remote.js";
import { EventMapper } from "../../src/remotes/agui/event-mapper.js";
import { FUZZ_LIMIT_MS, fuzz, must } from "./fuzz.js";

const run = { threadId: "t", runId: "r" };
const call = { id: "c", type: "function", function: { name: "search", arguments: "{}" } };
/** What a stream may hold. */
const EVENTS = [
  { type: "RUN_STARTED", ...run },
  { type: "RUN_FINISHED", ...run },
  { type: "RUN_FINISHED", ...run, outcome: { type: "cancelled" } },
  {
    type: "RUN_FINISHED",
    ...run,
    outcome: {
      type: "interrupt",
      interrupts: [{ id: "i", message: "Which?", toolCallId: "c", responseSchema: { type: "object" } }],
    },
  },
  { type: "RUN_ERROR", message: "no", code: "E" },
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "hello" },
  { type: "TEXT_MESSAGE_END", messageId: "m" },
  { type: "TEXT_MESSAGE_CHUNK", messageId: "n", delta: "there" },
  { type: "REASONING_MESSAGE_CONTENT", messageId: "r", delta: "hm" },
  { type: "THINKING_TEXT_MESSAGE_CONTENT", delta: "hm" },
  { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "search", parentMessageId: "m" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "{}" },
  { type: "TOOL_CALL_END", toolCallId: "c" },
  { type: "TOOL_CALL_CHUNK", toolCallId: "d", toolCallName: "find", delta: "{}" },
  { type: "TOOL_CALL_RESULT", toolCallId: "c", messageId: "m", content: "found" },
  {
    type: "MESSAGES_SNAPSHOT",
    messages: [
      { id: "q", role: "user", content: "go" },
      { id: "m", role: "assistant", content: "hello you", toolCalls: [call] },
      { id: "o", role: "tool", toolCallId: "c", content: "found" },
    ],
  },
  { type: "STATE_SNAPSHOT", snapshot: { a: [1] } },
  {
    type: "STATE_DELTA",
    delta: [
      { op: "add", path: "/a/-", value: 2 },
      { op: "copy", from: "/a", path: "/b" },
    ],
  },
  { type: "ACTIVITY_SNAPSHOT", messageId: "p", activityType: "PLAN", content: { title: "x" } },
  { type: "CUSTOM", name: "on_interrupt", value: '{"question":"Which?"}' },
  { type: "CUSTOM", name: "progress", value: 3 },
  { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "helper", parentToolCallId: "c" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "x", delta: "nested", subagentRunId: "s" },
  { type: "TEXT_MESSAGE_CHUNK", delta: "nested", subagentRunId: "s" },
  { type: "TOOL_CALL_START", toolCallId: "y", toolCallName: "dig", subagentRunId: "s" },
  { type: "SUBAGENT_FINISHED", subagentRunId: "s", result: "done" },
  { type: "SUBAGENT_ERROR", subagentRunId: "s", message: "no" },
] as const;

const FINAL = new Set(["completed", "failed", "rejected", "cancelled", "disconnected"]);
const IDENTITY = { runId: "r", delegationId: "d", agentKey: "k", agentName: "n", protocol: "agui" } as const;

it(
  "whatever a server streams becomes signals with at most one end, and a delegation with exactly one",
  async () => {
    let signals = 0;
    await fuzz<unknown[]>({
      inputs: 200_000,
      generate: (random) =>
        Array.from({ length: 1 + random.below(8) }, () => random.mutate(random.pick(EVENTS), 0.05)),
      check(stream, random) {
        const mapper = new EventMapper({ messageId: "q", ...(random.chance(0.3) ? { state: {} } : {}) });
        const said: RemoteSignal[] = [];
        for (const event of stream) said.push(...mapper.map(event));
        said.push(...mapper.end());
        if (mapper.waits) {
          const resumption = mapper.resume(
            random.chance(0.5) ? { text: random.text() } : { data: random.json() },
          );
          must(JSON.stringify(resumption).length > 0, "give an answer that can be sent");
          mapper.resumed(resumption);
          must(!mapper.waits, "wait no more");
          for (const event of stream) said.push(...mapper.map(event));
          said.push(...mapper.end());
        }
        must(Array.isArray(JSON.parse(JSON.stringify(mapper.conversation.messages))), "keep a history");
        signals += said.length;
        const ends = said.filter(({ type }) => FINAL.has(type)).length;
        must(ends === (mapper.over ? 1 : 0), "end once when it is over");
        must(ends === 0 || FINAL.has(said.at(-1)?.type ?? ""), "say nothing after the end");
        for (const signal of said) {
          if ("delta" in signal) must(typeof signal.delta === "string", "give deltas of text");
          if ("messageId" in signal) must(/^[\w.-]{1,130}$/.test(signal.messageId), "give safe message ids");
          if ("toolCallId" in signal) must(/^[\w.-]{1,130}$/.test(signal.toolCallId), "give safe call ids");
        }
        const text = said.map((signal) => (signal.type === "text" ? signal.delta : "")).join("");
        const own = stream.some((event) => {
          const { subagentRunId = null } = Object(event) as { subagentRunId?: unknown };
          return subagentRunId === null || subagentRunId === "";
        });
        must(own || text === "", "keep the words of subagents out of the answer");
        let state = newDelegation(IDENTITY, { objective: "x", correlation: "none", maxResultBytes: 2_048 });
        const events: SubagentEvent[] = [];
        for (const input of [...said, { type: "close", reason: "over" } as const]) {
          const step = reduce(state, input);
          state = step.state;
          events.push(...step.events);
        }
        must(events[0]?.type === "subagent.started", "start first");
        must(
          events.filter(isSubagentTerminal).length === 1 && isSubagentTerminal(events.at(-1) ?? { type: "" }),
          "end once, and last",
        );
        must(Buffer.byteLength(JSON.stringify(state.answer)) <= 2_048, "keep its result within its limit");
      },
    });
    expect(signals).toBeGreaterThan(0);
  },
  FUZZ_LIMIT_MS,
);
