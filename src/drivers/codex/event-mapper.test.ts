import fc from "fast-check";
import { expect, test } from "vitest";
import type { DriverEvent } from "../../core/run-event.js";
import { RunGrammar } from "../../core/run-grammar.js";
import { EventMapper } from "./event-mapper.js";

function mapper() {
  const events: DriverEvent[] = [];
  const map = new EventMapper({ idPrefix: "m", emit: (event) => events.push(event) });
  return { map, events, types: () => events.map(({ type }) => type) };
}

const item = (type: string, fields: object = {}) => ({ item: { type, id: "i1", ...fields } });

test("a message that comes whole is shown, one that was streamed only for what is missing", () => {
  const { map, events } = mapper();
  map.notification("item/completed", item("agentMessage", { text: "Whole" }));
  map.notification("item/agentMessage/delta", { itemId: "i2", delta: "Ha" });
  map.notification("item/completed", { item: { type: "agentMessage", id: "i2", text: "Half" } });
  map.notification("item/agentMessage/delta", { itemId: "i2", delta: "too late" });
  map.notification("item/completed", { item: { type: "agentMessage", id: "i3", text: "" } });
  expect(events).toEqual([
    { type: "text.start", messageId: "m-1" },
    { type: "text.delta", messageId: "m-1", delta: "Whole" },
    { type: "text.end", messageId: "m-1" },
    { type: "text.start", messageId: "m-2" },
    { type: "text.delta", messageId: "m-2", delta: "Ha" },
    { type: "text.delta", messageId: "m-2", delta: "lf" },
    { type: "text.end", messageId: "m-2" },
  ]);
  expect(map.lastText).toBe("Half");
});

test("parts of a reasoning's summary are apart; its raw text counts only where there is no summary", () => {
  const { map, events } = mapper();
  const delta = (method: string, itemId: string, text: string, index: number) =>
    map.notification(`item/reasoning/${method}`, {
      itemId,
      delta: text,
      summaryIndex: index,
      contentIndex: index,
    });
  delta("summaryTextDelta", "i1", "One", 0);
  delta("textDelta", "i1", "raw", 0);
  delta("summaryTextDelta", "i1", "Two", 1);
  map.notification("item/completed", item("reasoning", { summary: ["One", "Two"], content: ["raw"] }));
  delta("textDelta", "i2", "Only ", 0);
  map.notification("item/completed", {
    item: { type: "reasoning", id: "i2", summary: [], content: ["Only raw"] },
  });
  const text = (id: string) =>
    events
      .map((event) => ("delta" in event && "messageId" in event && event.messageId === id ? event.delta : ""))
      .join("");
  expect(text("m-1")).toBe("One\n\nTwo");
  expect(text("m-2")).toBe("Only raw");
});

test("a call that is only known by its end is started, too, and ends once", () => {
  const { map, events } = mapper();
  const call = item("mcpToolCall", {
    server: "a-b",
    tool: "t",
    arguments: { x: 1 },
    status: "failed",
    result: { content: [{ type: "text", text: "no" }] },
  });
  map.notification("item/completed", call);
  map.notification("item/completed", call);
  map.notification("item/started", call);
  expect(events).toEqual([
    { type: "tool.start", toolCallId: "i1", name: "mcp__a_b__t", server: "a-b", tool: "t" },
    { type: "tool.args", toolCallId: "i1", delta: '{"x":1}' },
    { type: "tool.end", toolCallId: "i1" },
    { type: "tool.result", toolCallId: "i1", content: "no", isError: true },
  ]);
});

test("what a search looked for is known at its end", () => {
  const { map, events } = mapper();
  map.notification("item/started", item("webSearch", { query: "" }));
  map.notification("item/completed", item("webSearch", { query: "q", action: null }));
  expect(events).toContainEqual({
    type: "tool.args",
    toolCallId: "i1",
    delta: '{"query":"q","action":null}',
  });
  expect(events.map(({ type }) => type)).toEqual(["tool.start", "tool.args", "tool.end", "tool.result"]);
});

test("a command's output: whole at its end, else what was streamed", () => {
  const { map, events } = mapper();
  const start = (id: string) =>
    map.notification("item/started", { item: { type: "commandExecution", id, command: "ls" } });
  start("a");
  map.notification("item/commandExecution/outputDelta", { itemId: "a", delta: "tail" });
  map.notification("item/completed", {
    item: {
      type: "commandExecution",
      id: "a",
      status: "completed",
      aggregatedOutput: "head and tail",
      exitCode: 0,
    },
  });
  start("b");
  map.notification("item/commandExecution/outputDelta", { itemId: "b", delta: "partial" });
  map.notification("item/started", item("mcpToolCall", { server: "s", tool: "t" }));
  expect(map.open("commandExecution")).toEqual(["b"]);
  map.close();
  expect(events.filter(({ type }) => type === "tool.result")).toEqual([
    { type: "tool.result", toolCallId: "a", content: "head and tail", isError: false },
    {
      type: "tool.result",
      toolCallId: "b",
      content: "partial\nThe run ended before this call did.",
      isError: true,
      synthetic: true,
    },
  ]);
  expect(map.open("mcpToolCall")).toEqual(["i1"]);
});

test("an MCP call is found by its arguments, unless two have the same", () => {
  const { map } = mapper();
  const start = (id: string, input: object) =>
    map.notification("item/started", {
      item: { type: "mcpToolCall", id, server: "s", tool: "t", arguments: input },
    });
  start("a", { x: 1, y: [2] });
  start("b", { x: 2 });
  expect(map.callOf("s", "t", { y: [2], x: 1 })).toEqual({ toolCallId: "a", tool: "t" });
  expect(map.callOf("s", undefined, { x: 2 })).toEqual({ toolCallId: "b", tool: "t" });
  expect(map.callOf("s", "u", { x: 2 })).toBeUndefined();
  expect(map.callOf("other", "t", { x: 2 })).toBeUndefined();
  start("c", { x: 2 });
  expect(map.callOf("s", "t", { x: 2 })).toBeUndefined();
});

test("an answer that broke off ends, is told, and its late words are dropped", () => {
  const { map, events, types } = mapper();
  map.notification("item/agentMessage/delta", { itemId: "i1", delta: "First" });
  map.notification("error", { willRetry: true, error: { message: "Reconnecting... 1/5" } });
  map.notification("item/completed", item("agentMessage", { text: "First try" }));
  map.notification("item/agentMessage/delta", { itemId: "i2", delta: "Second" });
  map.close();
  expect(types()).toEqual([
    ...["text.start", "text.delta", "text.end", "notice", "notice"],
    ...["text.start", "text.delta", "text.end"],
  ]);
  expect(events.flatMap((event) => (event.type === "notice" ? event.code : []))).toEqual([
    "message_restarted",
    "api_retry",
  ]);
});

test("usage leaves out what a resumed thread had used before", () => {
  const { map, events } = mapper();
  const used = (total: number, last: number) =>
    map.notification("thread/tokenUsage/updated", {
      tokenUsage: {
        total: { inputTokens: total, outputTokens: total },
        last: { inputTokens: last, outputTokens: 1 },
      },
    });
  used(110, 10);
  used(130, 20);
  expect(events).toEqual([
    { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } },
    { type: "usage", usage: { inputTokens: 30, outputTokens: 21 } },
  ]);
});

test("the same warning is told once; repeated requests each time", () => {
  const { map, events } = mapper();
  for (let time = 0; time < 2; time++) {
    map.notification("warning", { message: "Careful." });
    map.notification("configWarning", { summary: "Careful.", details: "Really." });
    map.notification("model/rerouted", { fromModel: "a", toModel: "b" });
    map.notification("mcpServer/startupStatus/updated", {
      name: "s",
      status: "failed",
      error: "x".repeat(900),
    });
    map.notification("error", { willRetry: true, error: { message: "again" } });
    map.notification("item/completed", { item: { type: "contextCompaction", id: `c${time}` } });
  }
  const notices = events.flatMap((event) => (event.type === "notice" ? [event] : []));
  expect(notices.map(({ code }) => code)).toEqual([
    ...[
      "codex_warning",
      "codex_warning",
      "model_rerouted",
      "mcp_server_failed",
      "api_retry",
      "context_compacted",
    ],
    ...["api_retry", "context_compacted"],
  ]);
  expect(notices[3]?.message.length).toBeLessThan(420);
});

test("any notifications in any order keep the grammar and never throw", () => {
  const ids = fc.constantFrom("a", "b", undefined);
  const method = fc.constantFrom(
    ...["item/started", "item/completed", "item/agentMessage/delta", "item/reasoning/summaryTextDelta"],
    ...["item/reasoning/textDelta", "item/commandExecution/outputDelta", "turn/plan/updated", "error"],
    ...["thread/tokenUsage/updated", "warning", "mcpServer/startupStatus/updated"],
  );
  const type = fc.constantFrom(
    ...["agentMessage", "reasoning", "commandExecution", "fileChange", "mcpToolCall", "webSearch", "other"],
  );
  const params = fc.record({
    itemId: ids,
    delta: fc.oneof(fc.string(), fc.integer()),
    willRetry: fc.boolean(),
    summaryIndex: fc.nat(2),
    plan: fc.anything(),
    error: fc.anything(),
    tokenUsage: fc.anything(),
    item: fc.oneof(
      fc.anything(),
      fc.record({
        type,
        id: ids,
        text: fc.string(),
        status: fc.string(),
        result: fc.anything(),
        changes: fc.anything(),
      }),
    ),
  });
  fc.assert(
    fc.property(fc.array(fc.tuple(method, params), { maxLength: 40 }), (notifications) => {
      const { map, events } = mapper();
      for (const [name, value] of notifications)
        map.notification(
          name,
          JSON.parse(JSON.stringify(value, (_, v) => (typeof v === "bigint" ? null : v))),
        );
      map.close();
      const grammar = new RunGrammar();
      for (const event of events) expect(grammar.accept(event)).toBe(true);
    }),
  );
});
