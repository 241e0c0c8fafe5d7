import { describe, expect, test } from "vitest";
import {
  accepted,
  collect,
  finished,
  type Json,
  never,
  remoteOf,
  run,
  serve,
  started,
  TASK,
  text,
} from "../../../test/support/agui-bench.js";
import type { RemoteSignal } from "../../delegation/remote.js";
import { agui } from "./agui.js";

describe("what is sent", () => {
  test("one message with the task, a new thread, the lineage, and the headers of the entry", async () => {
    const { url, calls } = await serve(({ send, response }) => {
      send(started, finished);
      response.end();
    });
    const remote = remoteOf(url, {
      headers: { "x-team": "blue" },
      auth: { mode: "bearer", token: "s3cret" },
    });
    const metadata = { troupe: { lineage: [{ agent: "a", delegationId: "d" }] } };
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    await collect(remote.start({ ...TASK, metadata, traceparent }, never()));
    expect(calls[0]?.body).toEqual({
      threadId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      runId: "del-1",
      protocolVersion: "1.0",
      messages: [{ id: "m-1", role: "user", content: "Paint." }],
      state: {},
      tools: [],
      context: [],
      forwardedProps: metadata,
    });
    expect(calls[0]?.headers).toMatchObject({
      accept: "text/event-stream",
      authorization: "Bearer s3cret",
      "x-team": "blue",
      traceparent,
    });
  });

  test("files that are text stand in the text, others are parts by their kind", async () => {
    const { url, calls } = await serve(({ send, response }) => {
      send(started, finished);
      response.end();
    });
    const bytes = (value: string) => new TextEncoder().encode(value);
    const artifacts = [
      { name: "a.md", mimeType: "text/markdown", bytes: bytes("# A") },
      { name: "b.png", mimeType: "image/png", bytes: bytes("x") },
      { name: "c.pdf", mimeType: "application/pdf", url: "https://host.example/shared/1" },
    ];
    await collect(remoteOf(url).start({ ...TASK, artifacts }, never()));
    const [message] = (calls[0]?.body.messages ?? []) as Json[];
    expect(message?.content).toEqual([
      { type: "text", text: "Paint.\n\n--- a.md (text/markdown) ---\n# A\n--- end of a.md ---" },
      {
        type: "image",
        source: { type: "data", value: "eA==", mimeType: "image/png" },
        metadata: { filename: "b.png" },
      },
      {
        type: "document",
        source: { type: "url", value: "https://host.example/shared/1", mimeType: "application/pdf" },
        metadata: { filename: "c.pdf" },
      },
    ]);
  });

  test("whoever it works for chooses the credential", async () => {
    const { url, calls } = await serve(({ send, response }) => {
      send(started, finished);
      response.end();
    });
    const asked: unknown[] = [];
    const remote = remoteOf(url, {
      credential: (context) => {
        asked.push(context);
        return { authorization: `Bearer ${context.tenant}` };
      },
    });
    await collect(remote.start({ ...TASK, run: { runId: "run-1", tenant: "acme" } }, never()));
    expect(asked).toEqual([{ agent: "painter", delegationId: "del-1", runId: "run-1", tenant: "acme" }]);
    expect(calls[0]?.headers.authorization).toBe("Bearer acme");
  });

  test("a conversation that is gone on with keeps its thread, and sends what was said", async () => {
    const { url, calls } = await serve(({ send, response }, number) => {
      send(started, text(`Answer ${number}.`, `a${number}`), finished);
      response.end();
    });
    const remote = remoteOf(url);
    const first = await collect(remote.start(TASK, never()));
    const { contextId } = first[0] as { contextId: string };
    await collect(remote.start({ ...TASK, delegationId: "del-2", messageId: "m-2", contextId }, never()));
    expect(calls[1]?.body).toMatchObject({ threadId: contextId, runId: "del-2" });
    expect(calls[1]?.body.messages).toEqual([
      { id: "m-1", role: "user", content: "Paint." },
      { id: "a1", role: "assistant", content: "Answer 1." },
      { id: "m-2", role: "user", content: "Paint." },
    ]);
  });
});

describe("what comes", () => {
  test("texts, thoughts old and new, tools in pieces, steps and unknown events", async () => {
    const signals = await run([
      { type: "CUSTOM", name: "warming up", value: 3 },
      started,
      { type: "THINKING_START" },
      { type: "THINKING_TEXT_MESSAGE_START" },
      { type: "THINKING_TEXT_MESSAGE_CONTENT", delta: "Old." },
      { type: "THINKING_TEXT_MESSAGE_END" },
      { type: "REASONING_MESSAGE_CHUNK", messageId: "r", delta: "New." },
      { type: "STEP_STARTED", stepName: "s" },
      { type: "TOOL_CALL_CHUNK", toolCallId: "t", toolCallName: "mix", delta: '{"a":' },
      { type: "TOOL_CALL_CHUNK", delta: "1}" },
      {
        type: "TOOL_CALL_RESULT",
        toolCallId: "t",
        messageId: "x",
        content: [{ type: "text", text: "green" }],
      },
      { type: "TEXT_MESSAGE_CHUNK", delta: "It is " },
      { type: "TEXT_MESSAGE_CHUNK", delta: "green." },
      { type: "SOMETHING_NEW", field: 1 },
      { type: "ACTIVITY_SNAPSHOT", messageId: "p", activityType: "PLAN", content: { title: "Two steps" } },
      { type: "TEXT_MESSAGE_START", messageId: "u", role: "user" },
      text("an echo of the person", "u"),
      finished,
    ]);
    expect(signals).toEqual([
      accepted,
      { type: "status", status: "working", message: "warming up: 3" },
      { type: "reasoning", messageId: expect.stringMatching(/^thought-/), delta: "Old." },
      { type: "reasoning", messageId: "r", delta: "New." },
      { type: "tool.start", toolCallId: "t", name: "mix" },
      { type: "tool.args", toolCallId: "t", delta: '{"a":' },
      { type: "tool.args", toolCallId: "t", delta: "1}" },
      { type: "tool.end", toolCallId: "t" },
      { type: "tool.result", toolCallId: "t", content: "green", isError: false },
      { type: "text", messageId: "message-1", delta: "It is " },
      { type: "text", messageId: "message-1", delta: "green." },
      { type: "status", status: "working", message: "PLAN: Two steps" },
      { type: "completed" },
    ]);
  });

  test.each([
    ["only in the snapshot", [], [{ id: "a", role: "assistant", content: "Whole." }]],
    [
      "streamed, and repeated under its id",
      [text("Whole.")],
      [{ id: "a", role: "assistant", content: "Whole." }],
    ],
    [
      "streamed, and stored under another id",
      [text("Whole.")],
      [{ id: "z", role: "assistant", content: "Whole." }],
    ],
    ["half streamed", [text("Who")], [{ id: "a", role: "assistant", content: "Whole." }]],
    ["a snapshot that lags", [text("Whole.")], [{ id: "a", role: "assistant", content: "Who" }]],
    [
      "streamed as one, stored as two",
      [text("Whole.")],
      [
        { id: "y", role: "assistant", content: "Who" },
        { id: "z", role: "assistant", content: "le." },
      ],
    ],
  ])("text is told once: %s", async (_what, events, messages) => {
    const history = [
      { id: "0", role: "assistant", content: "an older answer" },
      { id: "m-1", role: "user", content: "Paint." },
    ];
    const snapshot = { type: "MESSAGES_SNAPSHOT", messages: [...history, ...messages] };
    const signals = await run([started, ...events, snapshot, snapshot, finished]);
    const said = signals.map((signal) => (signal.type === "text" ? signal.delta : "")).join("");
    expect(said).toBe("Whole.");
    expect(signals.at(-1)).toEqual({ type: "completed" });
  });

  test("the agent's own subagents are its tools, never its answer", async () => {
    const of = (subagentRunId: string, event: Json) => ({ ...event, subagentRunId });
    const signals = await run([
      started,
      { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "Mixer" },
      of("s", text("Mixing.", "s1")),
      of("s", { type: "TOOL_CALL_START", toolCallId: "st", toolCallName: "stir" }),
      of("s", { type: "TOOL_CALL_END", toolCallId: "st" }),
      { type: "SUBAGENT_FINISHED", subagentRunId: "s" },
      { type: "TOOL_CALL_START", toolCallId: "t", toolCallName: "ask" },
      { type: "TOOL_CALL_END", toolCallId: "t" },
      { type: "SUBAGENT_STARTED", subagentRunId: "q", name: "Critic", parentToolCallId: "t" },
      of("q", text("Ugly.", "q1")),
      { type: "SUBAGENT_ERROR", subagentRunId: "q", message: "gave up" },
      { type: "TOOL_CALL_RESULT", toolCallId: "t", messageId: "x", content: "none" },
      text("Done."),
      finished,
    ]);
    expect(signals.slice(1, -1)).toEqual([
      { type: "tool.start", toolCallId: "subagent-s", name: "Mixer" },
      { type: "tool.end", toolCallId: "subagent-s" },
      { type: "tool.start", toolCallId: "st", name: "Mixer: stir" },
      { type: "tool.end", toolCallId: "st" },
      { type: "tool.result", toolCallId: "subagent-s", content: "Mixing.", isError: false },
      { type: "tool.start", toolCallId: "t", name: "ask" },
      { type: "tool.end", toolCallId: "t" },
      { type: "status", status: "working", message: "Critic: started" },
      { type: "status", status: "working", message: "Critic: gave up" },
      { type: "tool.result", toolCallId: "t", content: "none", isError: false },
      { type: "text", messageId: "a", delta: "Done." },
    ]);
  });

  test("the state becomes a file when it is wanted, once, and only when the run changed it", async () => {
    const events = [
      started,
      { type: "STATE_SNAPSHOT", snapshot: { steps: [{ done: false }] } },
      { type: "STATE_DELTA", delta: [{ op: "replace", path: "/steps/0/done", value: true }] },
      { type: "STATE_DELTA", delta: [{ op: "add", path: "/steps/-", value: { done: false } }] },
      finished,
    ];
    const files = (signals: RemoteSignal[]) =>
      signals.flatMap((signal) =>
        signal.type === "artifact" ? [JSON.parse(Buffer.from(signal.chunk.bytes).toString())] : [],
      );
    expect(files(await run(events, { state: "artifact" }))).toEqual([
      { steps: [{ done: true }, { done: false }] },
    ]);
    expect(files(await run(events))).toEqual([]);
    const same = [started, { type: "STATE_SNAPSHOT", snapshot: {} }, finished];
    expect(files(await run(same, { state: "artifact" }))).toEqual([]);
  });

  test.each<[string, Json[], RemoteSignal]>([
    ["outcome cancelled", [started, { ...finished, outcome: { type: "cancelled" } }], { type: "cancelled" }],
    ["a result without text", [started, { ...finished, result: "42" }], { type: "completed", message: "42" }],
    [
      "an error",
      [started, { type: "RUN_ERROR", message: "no paint", code: "E1" }, finished],
      { type: "failed", message: "no paint", remoteStatus: "E1" },
    ],
    [
      "no end",
      [started, text("x")],
      { type: "disconnected", message: expect.stringContaining("without saying how") },
    ],
    [
      "a step's end, and no other",
      [started, finished, text("x")],
      { type: "disconnected", message: expect.stringContaining("without saying how") },
    ],
    [
      "no event at all",
      [],
      {
        type: "failed",
        code: "agent_unavailable",
        retryable: true,
        message: expect.stringContaining("single event"),
        remoteStatus: "unknown",
      },
    ],
  ])("ends: %s", async (_what, events, last) => {
    expect((await run(events.length === 0 ? [] : events)).at(-1)).toEqual(last);
  });
});

test("it is described by its entry, without a call; an entry that is wrong is refused", async () => {
  const remote = remoteOf("http://127.0.0.1:1/agent", { title: "Painter", description: "Paints." });
  const described = await remote.describe(never());
  expect(described).toMatchObject({ name: "Painter", description: "Paints.", skills: [], streaming: true });
  expect(described.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  for (const [options, words] of [
    [{ url: "ftp://x" }, "url must be"],
    [{ url: "http://x", stopUrl: "/stop" }, "stopUrl must be"],
    [{ url: "http://x", headers: { "a b": "c" } }, "headers"],
    [{ url: "http://x", auth: { mode: "bearer", token: "a\nb" } }, "auth.token"],
  ] as const)
    expect(() => agui({ name: "x", ...options })).toThrow(words);
});
