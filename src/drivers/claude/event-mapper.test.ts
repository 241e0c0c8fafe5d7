import fc from "fast-check";
import { expect, test } from "vitest";
import type { DriverEvent } from "../../core/run-event.js";
import { EventMapper } from "./event-mapper.js";

function map(frames: readonly unknown[], servers: readonly string[] = ["a2a"]): DriverEvent[] {
  const events: DriverEvent[] = [];
  const mapper = new EventMapper({ servers, idPrefix: "m", emit: (event) => events.push(event) });
  for (const frame of frames) mapper.frame(frame);
  mapper.close();
  return events;
}

/** Short lines: `text.delta m-1 hello`. */
function short(events: readonly DriverEvent[]): string[] {
  return events.map((event) => {
    const { type, messageId, toolCallId, parentToolCallId, delta, content, code, isError } = event as Record<
      string,
      unknown
    >;
    const parts = [
      type,
      messageId ?? toolCallId ?? code,
      delta ?? content,
      isError === true ? "!" : undefined,
      parentToolCallId && `<${parentToolCallId}>`,
    ];
    return parts.filter((part) => part !== undefined).join(" ");
  });
}

const stream = (event: object, parent: string | null = null) => ({
  type: "stream_event",
  event,
  parent_tool_use_id: parent,
});
const start = (id: string) => stream({ type: "message_start", message: { id } });
const stop = () => stream({ type: "message_stop" });
const block = (index: number, content_block: object) =>
  stream({ type: "content_block_start", index, content_block });
const delta = (index: number, piece: object) => stream({ type: "content_block_delta", index, delta: piece });
const end = (index: number) => stream({ type: "content_block_stop", index });
const text = (value: string) => ({ type: "text", text: value });
const thinking = (value: string) => ({ type: "thinking", thinking: value });
const tool = (id: string, input: object = {}, name = "Bash") => ({ type: "tool_use", id, name, input });
const said = (value: string) => ({ type: "text_delta", text: value });
const args = (value: string) => ({ type: "input_json_delta", partial_json: value });
const assistant = (id: string, ...content: object[]) => ({
  type: "assistant",
  message: { id, content },
  parent_tool_use_id: null,
});
const inner = (parent: string, content: object, agent = "agent-1") => ({
  type: "assistant",
  message: { id: `inner-${parent}`, content: [content] },
  parent_tool_use_id: parent,
  agent_id: agent,
});
const result = (id: string, content: unknown, isError?: boolean) => ({
  type: "user",
  message: {
    role: "user",
    content: [
      {
        type: "tool_result",
        tool_use_id: id,
        content,
        ...(isError === undefined ? {} : { is_error: isError }),
      },
    ],
  },
  parent_tool_use_id: null,
});

test("streamed text is not told again by its assistant frame", () => {
  const frames = [
    start("msg"),
    block(0, text("")),
    delta(0, said("Hel")),
    delta(0, said("lo")),
    assistant("msg", text("Hello")),
    end(0),
    stop(),
  ];
  expect(short(map(frames))).toEqual([
    "text.start m-1",
    "text.delta m-1 Hel",
    "text.delta m-1 lo",
    "text.end m-1",
  ]);
});

test("one assistant frame per block, each matched with its own block", () => {
  const frames = [
    start("msg"),
    ...[
      block(0, thinking("")),
      delta(0, { type: "thinking_delta", thinking: "Hm" }),
      delta(0, { type: "signature_delta", signature: "c2ln" }),
    ],
    ...[assistant("msg", thinking("Hm")), end(0)],
    ...[block(1, text("")), delta(1, said("One")), assistant("msg", text("One")), end(1)],
    ...[block(2, text("")), delta(2, said("Two")), assistant("msg", text("Two")), end(2)],
    stop(),
  ];
  expect(short(map(frames))).toEqual([
    ...["reasoning.start m-1", "reasoning.delta m-1 Hm", "reasoning.end m-1"],
    ...["text.start m-2", "text.delta m-2 One", "text.end m-2"],
    ...["text.start m-3", "text.delta m-3 Two", "text.end m-3"],
  ]);
});

test("an assistant frame that comes after the end of its message is no news either", () => {
  const frames = [
    start("a"),
    block(0, text("")),
    delta(0, said("One")),
    end(0),
    stop(),
    start("b"),
    assistant("a", text("One")),
    block(0, text("")),
    delta(0, said("Two")),
    end(0),
  ];
  expect(short(map(frames)).filter((line) => line.includes("delta"))).toEqual([
    "text.delta m-1 One",
    "text.delta m-2 Two",
  ]);
});

test("what the stream had not brought yet is added from the frame", () => {
  const frames = [
    start("msg"),
    block(0, text("")),
    delta(0, said("Hel")),
    assistant("msg", text("Hello")),
    end(0),
    stop(),
  ];
  expect(short(map(frames))).toEqual([
    "text.start m-1",
    "text.delta m-1 Hel",
    "text.delta m-1 lo",
    "text.end m-1",
  ]);
});

test("a tool call names its server and tool, and its arguments come in pieces", () => {
  const name = "mcp__a2a__delegate_to_agent";
  const frames = [
    start("msg"),
    ...[
      block(0, tool("t1", {}, name)),
      delta(0, args("")),
      delta(0, args('{"agent":')),
      delta(0, args('"r"}')),
    ],
    ...[assistant("msg", tool("t1", { agent: "r" }, name)), end(0), stop(), result("t1", "done")],
  ];
  const events = map(frames);
  expect(events[0]).toEqual({
    type: "tool.start",
    toolCallId: "t1",
    name,
    server: "a2a",
    tool: "delegate_to_agent",
  });
  expect(short(events)).toEqual([
    "tool.start t1",
    'tool.args t1 {"agent":',
    'tool.args t1 "r"}',
    "tool.end t1",
    "tool.result t1 done",
  ]);
});

test("a call without streamed arguments still gets arguments that are JSON", () => {
  const frames = [
    start("msg"),
    block(0, tool("t1")),
    end(0),
    block(1, tool("t2", { whole: 1 })),
    end(1),
    block(2, tool("t3")),
    assistant("msg", tool("t3", { a: 1 })),
    end(2),
    stop(),
  ];
  expect(short(map(frames)).filter((line) => line.startsWith("tool.args"))).toEqual([
    "tool.args t1 {}",
    'tool.args t2 {"whole":1}',
    'tool.args t3 {"a":1}',
  ]);
});

test("a result in the middle of the message, before the end of its own block, ends the call first", () => {
  const frames = [
    start("msg"),
    block(0, tool("t1")),
    delta(0, args("{}")),
    result("t1", "quick"),
    end(0),
    block(1, text("")),
    delta(1, said("more")),
    end(1),
    stop(),
  ];
  expect(short(map(frames))).toEqual([
    ...["tool.start t1", "tool.args t1 {}", "tool.end t1", "tool.result t1 quick"],
    ...["text.start m-1", "text.delta m-1 more", "text.end m-1"],
  ]);
});

test("results of parallel calls come in the order of their completion", () => {
  const frames = [
    assistant("msg", tool("t1")),
    assistant("msg", tool("t2")),
    result("t2", "second"),
    result("t1", "first", true),
  ];
  expect(short(map(frames)).slice(-2)).toEqual(["tool.result t2 second", "tool.result t1 first !"]);
});

test("every form of a result becomes the text that the model saw", () => {
  const contents = [
    "plain",
    [text("one"), { type: "image", source: {} }, text("two")],
    undefined,
    { odd: true },
  ];
  const frames = contents.flatMap((content, index) => [
    assistant(`m${index}`, tool(`t${index}`)),
    result(`t${index}`, content),
  ]);
  expect(map(frames).flatMap((event) => (event.type === "tool.result" ? event.content : []))).toEqual([
    "plain",
    "one\n[image]\ntwo",
    "",
    "",
  ]);
});

test("a message that no stream brought (synthetic, non-streaming retry) is written whole", () => {
  expect(short(map([assistant("x", text("API Error: 500"), tool("t1", { a: 1 }))]))).toEqual([
    ...["text.start m-1", "text.delta m-1 API Error: 500", "text.end m-1"],
    ...["tool.start t1", 'tool.args t1 {"a":1}', "tool.end t1"],
  ]);
});

test("a message that breaks off is closed and told, its call is answered, and the retry is a message of its own", () => {
  const frames = [
    start("a"),
    block(0, text("")),
    delta(0, said("Half")),
    end(0),
    block(1, tool("t1")),
    delta(1, args('{"a')),
    assistant("b", text("Half and whole")),
  ];
  expect(short(map(frames))).toEqual([
    ...["text.start m-1", "text.delta m-1 Half", "text.end m-1"],
    ...[
      "tool.start t1",
      'tool.args t1 {"a',
      "tool.end t1",
      "tool.result t1 The model's answer broke off before this call was made. !",
    ],
    "notice message_restarted",
    ...["text.start m-2", "text.delta m-2 Half and whole", "text.end m-2"],
  ]);
  expect(short(map([start("a"), block(0, text("")), delta(0, said("Half")), start("b")])).at(-1)).toBe(
    "notice message_restarted",
  );
});

test("an interrupt in the middle of a block ends it once", () => {
  const frames = [
    start("a"),
    block(0, text("")),
    delta(0, said("Half a sen")),
    { ...assistant("a", text("Half a sen")), aborted: true },
    { type: "user", message: { content: [text("[Request interrupted by user]")] } },
    { type: "result", is_error: true },
  ];
  expect(short(map(frames))).toEqual(["text.start m-1", "text.delta m-1 Half a sen", "text.end m-1"]);
});

test("case 096: frames of native subagents keep apart by their parent call, also side by side with the main text", () => {
  const frames = [
    assistant("msg", tool("N", {}, "Agent")),
    start("next"),
    block(0, text("")),
    delta(0, said("I wait")),
    inner("N", text("inner words")),
    inner("N", tool("I", { command: "ls" })),
    { ...result("I", "files"), parent_tool_use_id: "N" },
    { type: "user", message: { content: [text("the subagent's prompt")] }, parent_tool_use_id: "N" },
    delta(0, said("ed")),
    end(0),
  ];
  expect(short(map(frames)).slice(3)).toEqual([
    ...["text.start m-1", "text.delta m-1 I wait"],
    ...["text.start m-2 <N>", "text.delta m-2 inner words <N>", "text.end m-2 <N>"],
    ...["tool.start I <N>", 'tool.args I {"command":"ls"}', "tool.end I", "tool.result I files"],
    ...["text.delta m-1 ed", "text.end m-1"],
  ]);
});

test("empty texts and thoughts are not shown", () => {
  expect(
    map([
      start("a"),
      block(0, text("")),
      end(0),
      block(1, thinking("")),
      delta(1, { type: "signature_delta", signature: "x" }),
      assistant("a", thinking("")),
      end(1),
      stop(),
    ]),
  ).toEqual([]);
});

test("results of calls that nobody saw, and second results, are dropped", () => {
  expect(
    short(map([result("old", "x"), assistant("m", tool("t")), result("t", "1"), result("t", "2")])).slice(-2),
  ).toEqual(["tool.end t", "tool.result t 1"]);
});

test("a gateway that gives every message the same id loses nothing", () => {
  const message = (words: string) => [
    start("same"),
    block(0, text("")),
    delta(0, said(words)),
    assistant("same", text(words)),
    end(0),
    stop(),
  ];
  const events = map([...message("One"), ...message("Two")]);
  expect(short(events).filter((line) => line.includes("delta"))).toEqual([
    "text.delta m-1 One",
    "text.delta m-2 Two",
  ]);
});

test("retries, lost servers and compaction are notices; a server's trouble is told once", () => {
  const init = {
    type: "system",
    subtype: "init",
    mcp_servers: [
      { name: "a2a", status: "failed" },
      { name: "b", status: "connected" },
    ],
  };
  const retry = {
    type: "system",
    subtype: "api_retry",
    attempt: 1,
    max_retries: 10,
    retry_delay_ms: 604,
    error_status: 500,
    error: "server_error",
  };
  expect(map([init, init, retry, { type: "system", subtype: "compact_boundary" }])).toEqual([
    {
      type: "notice",
      level: "warning",
      code: "mcp_server_failed",
      message: "Claude Code could not use the MCP server a2a (failed); its tools are missing.",
    },
    {
      type: "notice",
      level: "warning",
      code: "api_retry",
      message: "The model's API failed (500); attempt 1 of 10 follows in 0.6 s.",
    },
    {
      type: "notice",
      level: "info",
      code: "context_compacted",
      message: "Claude Code summarised the conversation to make room.",
    },
  ]);
});

test("the to-do list is the plan, but not that of a subagent", () => {
  const todos = tool(
    "t",
    { todos: [{ content: "a", status: "completed" }, { content: "b", status: "odd" }, {}] },
    "TodoWrite",
  );
  const plans = map([assistant("m", todos), inner("N", { ...todos, id: "t2" })]).filter(
    (event) => event.type === "plan.updated",
  );
  expect(plans).toEqual([
    {
      type: "plan.updated",
      steps: [
        { text: "a", status: "completed" },
        { text: "b", status: "pending" },
      ],
    },
  ]);
});

/** Checks the grammar as a reader would. */
function checkGrammar(events: readonly DriverEvent[]): void {
  const texts = new Map<string, "open" | "closed">();
  const tools = new Map<string, "arguments" | "running" | "done">();
  for (const event of events) {
    const [, part] = event.type.split(".");
    if (event.type.startsWith("text.") || event.type.startsWith("reasoning.")) {
      const { messageId } = event as { messageId: string };
      expect(texts.get(messageId)).toBe(part === "start" ? undefined : "open");
      texts.set(messageId, part === "end" ? "closed" : "open");
    } else if (event.type === "tool.start") {
      expect(tools.has(event.toolCallId)).toBe(false);
      tools.set(event.toolCallId, "arguments");
    } else if (event.type === "tool.args") expect(tools.get(event.toolCallId)).toBe("arguments");
    else if (event.type === "tool.end") {
      expect(tools.get(event.toolCallId)).toBe("arguments");
      tools.set(event.toolCallId, "running");
    } else if (event.type === "tool.result") {
      expect(tools.get(event.toolCallId)).toBe("running");
      tools.set(event.toolCallId, "done");
    }
  }
  expect([...texts.values()]).not.toContain("open");
  expect([...tools.values()]).not.toContain("arguments");
}

test("any frames in any order keep the grammar and never throw", () => {
  const id = fc.constantFrom("a", "b");
  const index = fc.constantFrom(0, 1);
  const call = fc.constantFrom("t1", "t2", "t3");
  const words = fc.constantFrom("", "x", "xy", "xyz");
  const content = fc.oneof(
    words.map(text),
    words.map(thinking),
    call.map((name) => tool(name)),
    fc.constant({ type: "odd" }),
  );
  const parent = fc.constantFrom(null, "N");
  const event = fc.oneof(
    id.map((one) => ({ type: "message_start", message: { id: one } })),
    fc.constant({ type: "message_stop" }),
    fc
      .tuple(index, content)
      .map(([at, one]) => ({ type: "content_block_start", index: at, content_block: one })),
    fc.tuple(index, words).map(([at, one]) => ({ type: "content_block_delta", index: at, delta: said(one) })),
    fc.tuple(index, words).map(([at, one]) => ({ type: "content_block_delta", index: at, delta: args(one) })),
    index.map((at) => ({ type: "content_block_stop", index: at })),
  );
  const frame = fc.oneof(
    fc.tuple(event, parent).map(([one, owner]) => stream(one, owner)),
    fc
      .tuple(id, content, parent)
      .map(([one, part, owner]) => ({ ...assistant(one, part), parent_tool_use_id: owner })),
    call.map((one) => result(one, "r")),
    fc.constant({ type: "result" }),
    fc.jsonValue(),
    fc
      .tuple(fc.constantFrom("assistant", "user", "stream_event", "system"), fc.jsonValue())
      .map(([type, value]) => ({ type, message: value, event: value, subtype: "init", mcp_servers: value })),
  );
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 40 }), (frames) => checkGrammar(map(frames))),
    { numRuns: 1_000 },
  );
});
