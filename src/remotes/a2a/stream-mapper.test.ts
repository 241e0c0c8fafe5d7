import { StreamResponse } from "@a2a-js/sdk";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RemoteSignal } from "../../delegation/remote.js";
import { StreamMapper } from "./stream-mapper.js";

/** The signals of a stream whose responses are written as they are on the wire. */
function map(responses: readonly object[], mapper = new StreamMapper()): RemoteSignal[] {
  return responses.flatMap((response) => mapper.map(StreamResponse.fromJSON(response)));
}

const ids = { taskId: "t", contextId: "c" };
const accepted: RemoteSignal = { type: "accepted", taskId: "t", contextId: "c" };

function task(state: string, members: object = {}) {
  return { task: { id: "t", contextId: "c", status: { state: `TASK_STATE_${state}` }, ...members } };
}
function status(state: string, text?: string, role = "ROLE_AGENT") {
  const message = text === undefined ? {} : { message: { messageId: "m", role, parts: [{ text }] } };
  return { statusUpdate: { ...ids, status: { state: `TASK_STATE_${state}`, ...message } } };
}
function artifact(
  artifactId: string,
  parts: object[],
  members: { name?: string; append?: boolean; lastChunk?: boolean } = {},
) {
  const { name, ...update } = members;
  return { artifactUpdate: { ...ids, artifact: { artifactId, name, parts }, ...update } };
}
/** What a reader of the text signals sees: one text per message. */
function texts(signals: readonly RemoteSignal[]): Record<string, string> {
  const all: Record<string, string> = {};
  for (const signal of signals) {
    if (signal.type === "text") all[signal.messageId] = (all[signal.messageId] ?? "") + signal.delta;
  }
  return all;
}
/** What a store holds after the artifact signals: `mimeType|text`. */
function files(signals: readonly RemoteSignal[]): Record<string, string> {
  const all: Record<string, string> = {};
  for (const signal of signals) {
    if (signal.type !== "artifact") continue;
    const { id, mode, mimeType, bytes } = signal.chunk;
    const text = Buffer.from(bytes).toString();
    all[id] = mode === "replace" ? `${mimeType}|${text}` : `${all[id]}${text}`;
  }
  return all;
}

describe("accepting and ending", () => {
  test("a task that is there is accepted once, with its ids", () => {
    expect(map([task("SUBMITTED"), task("WORKING"), status("WORKING")])).toEqual([
      accepted,
      { type: "status", status: "submitted" },
      { type: "status", status: "working" },
    ]);
  });

  test("an event that comes before the task accepts it too, and ids that come later are told", () => {
    expect(
      map([
        { statusUpdate: { taskId: "t", status: { state: "TASK_STATE_WORKING" } } },
        artifact("a", [{ text: "x" }]),
      ]),
    ).toEqual([
      { type: "accepted", taskId: "t" },
      { type: "status", status: "working" },
      accepted,
      { type: "text", messageId: "a", delta: "x" },
    ]);
  });

  test("a task that is over at once still gives what it made, then its end", () => {
    const made = [{ artifactId: "a", parts: [{ text: "x" }] }];
    expect(map([task("COMPLETED", { artifacts: made })])).toEqual([
      accepted,
      { type: "text", messageId: "a", delta: "x" },
      { type: "completed" },
    ]);
  });

  test.each([
    ["COMPLETED", { type: "completed", message: "Why" }],
    ["FAILED", { type: "failed", message: "Why", remoteStatus: "failed" }],
    ["REJECTED", { type: "rejected", message: "Why" }],
    ["CANCELED", { type: "cancelled", message: "Why" }],
  ])("case 108: %s has a signal of its own, and nothing follows", (state, signal) => {
    const mapper = new StreamMapper();
    expect(map([task("WORKING"), status(state, "Why")], mapper).at(-1)).toEqual(signal);
    expect(mapper.over).toBe(true);
    expect(map([status("FAILED", "late"), artifact("a", [{ text: "late" }]), status(state)], mapper)).toEqual(
      [],
    );
  });

  test("asking for input or a sign-in is no end", () => {
    const mapper = new StreamMapper();
    expect(map([status("INPUT_REQUIRED", "Which?"), status("AUTH_REQUIRED")], mapper)).toEqual([
      accepted,
      { type: "input_required", prompt: "Which?" },
      { type: "auth_required" },
    ]);
    expect([mapper.over, mapper.waitsForInput]).toEqual([false, false]);
    map([status("INPUT_REQUIRED")], mapper);
    expect(mapper.waitsForInput).toBe(true);
  });

  test("unknown states, payloads and members are no end and no error", () => {
    expect(
      map([
        {},
        { news: 1 },
        task("DREAMING"),
        { task: { id: "t" } },
        { artifactUpdate: ids },
        { statusUpdate: {} },
      ]),
    ).toEqual([accepted, { type: "status", status: "unknown" }]);
  });
});

describe("words", () => {
  test("words of a status are its message, not text; a state without news is not repeated", () => {
    expect(
      map([status("WORKING", "one"), status("WORKING", "two"), status("WORKING"), status("WORKING", "two")]),
    ).toEqual([
      accepted,
      { type: "status", status: "working", message: "one" },
      { type: "status", status: "working", message: "two" },
      { type: "status", status: "working", message: "two" },
    ]);
  });

  test("case 052: what the user said is not shown as the agent's", () => {
    const echo = { messageId: "u", role: "ROLE_USER", parts: [{ text: "my question" }] };
    expect(
      map([
        task("SUBMITTED", { history: [echo] }),
        status("WORKING", "my question", "ROLE_USER"),
        { message: echo },
      ]),
    ).toEqual([accepted, { type: "status", status: "submitted" }, { type: "status", status: "working" }]);
    expect(map([{ message: echo }])).toEqual([]);
  });

  test("a bare message is text, files and the end, without a task id", () => {
    const message = {
      messageId: "m-1",
      contextId: "c",
      role: "ROLE_AGENT",
      parts: [{ text: "a" }, { text: "b" }, { data: { n: 1 } }],
    };
    const signals = map([{ message }]);
    expect(signals.map(({ type }) => type)).toEqual(["accepted", "text", "artifact", "completed"]);
    expect(signals[0]).toEqual({ type: "accepted", contextId: "c" });
    expect(texts(signals)).toEqual({ "m-1": "a\nb" });
    expect(files(signals)).toEqual({ "m-1": 'application/json|{"n":1}' });
  });

  test("a message within a task is a remark, not its end", () => {
    const mapper = new StreamMapper();
    const remark = { message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "by the way" }] } };
    expect(map([task("WORKING"), remark], mapper).at(-1)).toEqual({
      type: "status",
      status: "working",
      message: "by the way",
    });
    expect(mapper.over).toBe(false);
  });

  test("statuses and closing words are capped at whole characters, and redacted", () => {
    const mapper = new StreamMapper({ redact: (text) => text.replaceAll("secret", "-") });
    const [, line] = map([status("WORKING", `secret${"x".repeat(1998)}😀tail`)], mapper);
    expect(line).toEqual({ type: "status", status: "working", message: `-${"x".repeat(1998)}…` });
    const [end] = map([status("FAILED", "y".repeat(100_000))], mapper);
    expect(end?.type === "failed" && end.message?.length).toBe(32_001);
  });
});

describe("artifacts that are text", () => {
  test.each([
    ["by name", artifact("a", [{ text: "x", mediaType: "text/markdown" }], { name: "assistant-output" })],
    ["by id", artifact("assistant-output", [{ text: "x" }], { name: "x.md" })],
    ["without a name", artifact("a", [{ text: "x", mediaType: "text/plain; charset=utf-8" }, { text: "" }])],
    ["with a name that is no file's", artifact("a", [{ text: "x" }], { name: "The answer, v2.0" })],
  ])("%s", (_name, update) => {
    expect(Object.values(texts(map([update])))).toEqual(["x"]);
  });

  test.each([
    ["a file's name", artifact("a", [{ text: "x" }], { name: "notes.md" })],
    ["a file name on the part", artifact("a", [{ text: "x", filename: "a" }])],
    ["another media type", artifact("a", [{ text: "x", mediaType: "text/html" }])],
    ["another part", artifact("a", [{ text: "x" }, { data: 1 }])],
  ])("not with %s", (_name, update) => {
    const signals = map([update]);
    expect(texts(signals)).toEqual({});
    expect(Object.values(files(signals))[0]).toMatch(/\|x$/);
  });

  test("cases 048, 054: chunks join with nothing between; an unknown id is begun by an append; equal chunks all count", () => {
    const chunk = (text: string) => artifact("a", [{ text }], { append: true });
    expect(
      texts(map([chunk("Hel"), chunk("lo, wor"), chunk("ld!"), chunk("ha"), chunk("ha"), chunk("")])),
    ).toEqual({
      a: "Hello, world!haha",
    });
  });

  test("a replacement that begins like what was seen adds only the rest", () => {
    const signals = map([
      artifact("a", [{ text: "one " }], { append: true }),
      artifact("a", [{ text: "one two " }]),
      artifact("a", [{ text: "one two " }], { lastChunk: true }),
      artifact("a", [{ text: "three" }], { append: true }),
    ]);
    expect(signals.filter(({ type }) => type === "text")).toEqual([
      { type: "text", messageId: "a", delta: "one " },
      { type: "text", messageId: "a", delta: "two " },
      { type: "text", messageId: "a", delta: "three" },
    ]);
  });

  test("case 046: a replacement by something else is a new message; the old one stays", () => {
    const signals = map([
      artifact("a", [{ text: "draft" }]),
      artifact("a", [{ text: "final" }]),
      artifact("a", [{ text: "!" }], { append: true }),
      artifact("a", []),
      artifact("a", [{ text: "again" }], { append: true }),
    ]);
    expect(texts(signals)).toEqual({ a: "draft", "a-2": "final!", "a-3": "again" });
  });

  test("a snapshot that lags behind the stream takes nothing back, one that is ahead adds the rest", () => {
    const snapshot = (text: string) =>
      task("WORKING", { artifacts: [{ artifactId: "a", parts: [{ text }] }] });
    const chunk = artifact("a", [{ text: "one two" }], { append: true });
    expect(texts(map([chunk, snapshot("one"), snapshot(""), snapshot("one two three")]))).toEqual({
      a: "one two three",
    });
  });

  test("a part that is no text goes to a file, and the text goes on", () => {
    const signals = map([
      artifact("assistant-output", [{ text: "a" }]),
      artifact("assistant-output", [{ text: "b" }, { data: { n: 1 } }], { append: true }),
    ]);
    expect(texts(signals)).toEqual({ "assistant-output": "ab" });
    expect(files(signals)).toEqual({ "assistant-output": 'application/json|{"n":1}' });
  });
});

describe("artifacts that are files", () => {
  const raw = (text: string) => ({ raw: Buffer.from(text).toString("base64"), filename: "f.bin" });

  test("every kind of part: bytes, JSON text, and a URL that is named but not fetched", () => {
    const signals = map([
      artifact("r", [raw("\0\x01")]),
      artifact("d", [{ data: { a: [1, null] } }]),
      artifact("u", [{ url: "https://x.example/f?sig=1" }]),
      artifact("t", [{ text: "<p>", mediaType: "text/html" }]),
    ]);
    expect(files(signals)).toEqual({
      r: "application/octet-stream|\0\x01",
      d: 'application/json|{"a":[1,null]}',
      u: "text/uri-list|https://x.example/f?sig=1\r\n",
      t: "text/html|<p>",
    });
  });

  test("chunks append, a replacement replaces, and an empty last chunk says that it is whole", () => {
    const signals = map([
      artifact("a", [raw("old")]),
      artifact("a", [raw("new "), raw("one ")]),
      artifact("a", [raw("two")], { append: true }),
      artifact("a", [], { append: true, lastChunk: true }),
    ]);
    expect(files(signals)).toEqual({ a: "application/octet-stream|new one two" });
    const chunks = signals.flatMap((signal) => (signal.type === "artifact" ? [signal.chunk] : []));
    expect(chunks.map(({ mode, last }) => [mode, last])).toEqual([
      ["replace", false],
      ["replace", false],
      ["append", false],
      ["append", false],
      ["append", true],
    ]);
  });

  test("different contents of one artifact are not mixed, and JSON values stay apart", () => {
    const signals = map([
      artifact(
        "a",
        [{ text: "# R", filename: "r.md", mediaType: "text/markdown" }, raw("PDF"), { data: 1 }, { data: 2 }],
        { name: "Report" },
      ),
      artifact("a", [{ data: 3 }, { text: "!", filename: "r.md", mediaType: "text/markdown" }], {
        append: true,
      }),
    ]);
    expect(files(signals)).toEqual({
      a: "text/markdown|# R!",
      "a-2": "application/octet-stream|PDF",
      "a-3": "application/json|1",
      "a-4": "application/json|2",
      "a-5": "application/json|3",
    });
    expect(signals.flatMap((signal) => (signal.type === "artifact" ? [signal.chunk.name] : []))).toEqual([
      "r.md",
      "f.bin",
      "Report",
      "Report",
      "Report",
      "r.md",
    ]);
  });

  test("a snapshot counts only when it holds more than was seen", () => {
    const snapshot = (text: string) =>
      task("WORKING", { artifacts: [{ artifactId: "a", parts: [raw(text)] }] });
    const seen = [artifact("a", [raw("one")]), artifact("a", [raw("two")], { append: true })];
    expect(
      map([...seen, snapshot("one"), snapshot("onetwo")]).filter(({ type }) => type === "artifact"),
    ).toHaveLength(2);
    expect(files(map([...seen, snapshot("onetwothree")]))).toEqual({
      a: "application/octet-stream|onetwothree",
    });
    expect(files(map([snapshot("")]))).toEqual({ a: "application/octet-stream|" });
  });

  test("names and ids are made harmless, and stay different", () => {
    const signals = map([
      artifact("../../etc/passwd", [{ text: "x" }], { name: "../../etc/pass\nwd.txt" }),
      artifact("..-..-etc-passwd", [{ data: 1 }], { name: ".." }),
      artifact("", [{ data: 1 }]),
      artifact("x".repeat(5000), [{ data: 1 }], { name: "n".repeat(5000) }),
    ]);
    const chunks = signals.flatMap((signal) => (signal.type === "artifact" ? [signal.chunk] : []));
    expect(chunks.map(({ name }) => name)).toEqual([
      "pass wd.txt",
      undefined,
      undefined,
      `${"n".repeat(200)}…`,
    ]);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(4);
    for (const { id } of chunks) expect(id).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/);
  });
});

test("whatever a stream holds, the mapper ends at most once and never throws", () => {
  const state = fc.constantFrom(
    "SUBMITTED",
    "WORKING",
    "COMPLETED",
    "FAILED",
    "CANCELED",
    "REJECTED",
    "INPUT_REQUIRED",
    "ODD",
  );
  const part = fc.oneof(
    fc.record({ text: fc.string({ unit: "binary" }) }),
    fc.record({ data: fc.jsonValue() }),
    fc.record({ raw: fc.base64String(), filename: fc.string() }),
    fc.jsonValue().filter((value) => typeof value === "object" && value !== null),
  );
  const id = fc.constantFrom("a", "b", "assistant-output", "", "/x");
  const response = fc.oneof(
    state.map((name) => task(name)),
    fc.tuple(state, fc.string()).map(([name, text]) => status(name, text)),
    fc
      .tuple(id, fc.array(part as fc.Arbitrary<object>), fc.boolean(), fc.boolean())
      .map(([name, parts, append, lastChunk]) => artifact(name, parts, { append, lastChunk })),
    fc.record({
      message: fc.record({
        role: fc.constantFrom("ROLE_USER", "ROLE_AGENT", "?"),
        parts: fc.array(part as fc.Arbitrary<object>),
      }),
    }),
  );
  const finals = new Set(["completed", "failed", "rejected", "cancelled"]);
  fc.assert(
    fc.property(fc.array(response, { maxLength: 30 }), (responses) => {
      const mapper = new StreamMapper();
      const signals = map(responses, mapper);
      const ends = signals.filter(({ type }) => finals.has(type));
      expect(ends.length).toBe(mapper.over ? 1 : 0);
      if (mapper.over) expect(signals.at(-1)).toBe(ends[0]);
      if (signals.length > 0) expect(signals[0]?.type).toBe("accepted");
    }),
  );
});

describe("what comes in very many pieces", () => {
  const PIECES = 100_000;
  const piece = "twenty characters of";

  test("is told piece by piece, each at the cost of the first", () => {
    const mapper = new StreamMapper();
    const response = StreamResponse.fromJSON({
      statusUpdate: {
        ...ids,
        metadata: { coderAgent: { kind: "text-content" } },
        status: {
          state: "TASK_STATE_WORKING",
          message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: piece }] },
        },
      },
    });
    let said = 0;
    for (let count = 0; count < PIECES; count++)
      for (const signal of mapper.map(response)) if (signal.type === "text") said += signal.delta.length;
    expect(said).toBe(PIECES * piece.length);
  });

  test("thoughts as well", () => {
    const mapper = new StreamMapper();
    const response = StreamResponse.fromJSON({
      artifactUpdate: {
        ...ids,
        artifact: { artifactId: "a", parts: [{ text: piece, metadata: { adk_thought: true } }] },
        append: true,
      },
    });
    let thought = 0;
    for (let count = 0; count < PIECES; count++)
      for (const signal of mapper.map(response))
        if (signal.type === "reasoning") thought += signal.delta.length;
    expect(thought).toBe(PIECES * piece.length);
  });
});
