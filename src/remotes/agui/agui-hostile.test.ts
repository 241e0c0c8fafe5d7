import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { RemoteSignal, RemoteTask } from "../../delegation/remote.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { agui } from "./agui.js";
import type { AguiOptions } from "./options.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const never = () => new AbortController().signal;
const TASK: RemoteTask = { delegationId: "del-1", messageId: "m-1", text: "x", artifacts: [], metadata: {} };
const TOKEN = "tok-1234567890-secret";

async function serve(answer: (response: ServerResponse, number: number) => unknown): Promise<string> {
  let number = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => void answer(response, ++number));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(
    () => server.close(),
    () => server.closeAllConnections(),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`;
}

async function run(url: string, more: Partial<AguiOptions> = {}): Promise<RemoteSignal[]> {
  const remote = agui({ name: "odd", url, ...more });
  cleanups.push(() => remote.close());
  const signals: RemoteSignal[] = [];
  for await (const signal of remote.start(TASK, never())) signals.push(signal);
  return signals;
}

function stream(response: ServerResponse, ...data: string[]): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const line of data) response.write(`data: ${line}\n\n`);
  return response;
}

const STARTED = '{"type":"RUN_STARTED","threadId":"t","runId":"r"}';
const FINISHED = '{"type":"RUN_FINISHED","threadId":"t","runId":"r"}';
const text = (delta: string) => JSON.stringify({ type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta });

test.each<[string, (response: ServerResponse) => unknown, object]>([
  [
    "400 with its reason",
    (r) => json(r, 400, { error: { message: "messages: required" } }),
    { code: "remote_rejected", message: expect.stringContaining("messages: required") },
  ],
  [
    "404",
    (r) => json(r, 404, {}),
    { code: "agent_unavailable", message: expect.stringContaining("url of its entry") },
  ],
  ["409, busy", (r) => json(r, 409, { error: "busy" }), { code: "agent_unavailable", retryable: true }],
  ["422 that is no JSON", (r) => r.writeHead(422).end("<html>"), { code: "remote_rejected" }],
  [
    "500",
    (r) => json(r, 500, { detail: "boom" }),
    { code: "remote_failed", message: expect.stringContaining("boom") },
  ],
  [
    "401",
    (r) => r.writeHead(401).end(),
    { code: "agent_unavailable", message: expect.stringContaining("auth") },
  ],
  [
    "a redirect",
    (r) => r.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    { code: "policy_denied" },
  ],
  [
    "a page",
    (r) => r.writeHead(200, { "content-type": "text/html" }).end("<html>"),
    { code: "capability_unsupported" },
  ],
  [
    "lines of JSON",
    (r) => r.writeHead(200, { "content-type": "application/x-ndjson" }).end(STARTED),
    { code: "capability_unsupported" },
  ],
  ["no content", (r) => r.writeHead(204).end(), { code: "capability_unsupported" }],
])("answers %s: a typed failure", async (_what, answer, expected) => {
  expect(await run(await serve(answer))).toEqual([expect.objectContaining({ type: "failed", ...expected })]);
});

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

test("nothing listens: unreachable, after three tries", async () => {
  const clock = new ManualClock();
  const remote = agui({ name: "odd", url: "http://127.0.0.1:1/agent", clock, random: () => 0.5 });
  cleanups.push(() => remote.close());
  const signals: RemoteSignal[] = [];
  const running = (async () => {
    for await (const signal of remote.start(TASK, never())) signals.push(signal);
  })();
  for (const pause of [250, 500]) {
    await expect.poll(() => clock.pending, { timeout: 5_000 }).toBe(1);
    await clock.advance(pause);
  }
  await running;
  expect(signals).toEqual([
    expect.objectContaining({ type: "failed", code: "agent_unavailable", retryable: true }),
  ]);
});

test.each([
  ["no JSON", "{not json"],
  [
    "an integer beyond 2^53",
    '{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"x","n":9007199254740993}',
  ],
  ["a prototype", '{"type":"CUSTOM","name":"x","value":{"__proto__":{"a":1}}}'],
])("an event that is %s is refused, not guessed at", async (_what, data) => {
  const url = await serve((response) => stream(response, STARTED, data, FINISHED).end());
  expect((await run(url, { resume: "repost" })).at(-1)).toMatchObject({
    type: "failed",
    code: "remote_failed",
  });
});

test("bytes that are no UTF-8 are refused", async () => {
  const url = await serve((response) => {
    stream(response, STARTED).write(
      Buffer.concat([Buffer.from("data: "), Buffer.from([0xff, 0xfe]), Buffer.from("\n\n")]),
    );
    response.end();
  });
  expect((await run(url)).at(-1)).toMatchObject({ type: "failed", code: "remote_failed" });
});

test("an event, or a stream, that is too large ends the task, and says so", async () => {
  const url = await serve((response) => stream(response, STARTED, text("x".repeat(5_000)), FINISHED).end());
  for (const limits of [{ maxEventBytes: 1_000 }, { maxResponseBytes: 1_000 }])
    expect((await run(url, { limits })).at(-1)).toMatchObject({ type: "failed", code: "artifact_too_large" });
});

test("malformed fields cost their event, and nothing else", async () => {
  const odd = [
    "[]",
    "null",
    '"x"',
    "{}",
    '{"type":7}',
    '{"type":"TEXT_MESSAGE_CONTENT","messageId":null,"delta":5}',
    '{"type":"TOOL_CALL_START"}',
    '{"type":"TOOL_CALL_ARGS","toolCallId":"never-started","delta":"x"}',
    '{"type":"MESSAGES_SNAPSHOT","messages":"x"}',
    '{"type":"MESSAGES_SNAPSHOT","messages":[null,1,{"role":"assistant"}]}',
    '{"type":"SUBAGENT_STARTED"}',
    '{"type":"SUBAGENT_FINISHED","subagentRunId":"never-started"}',
    '{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/a/b","value":1}]}',
    '{"type":"ACTIVITY_SNAPSHOT","content":7}',
    '{"type":"CUSTOM"}',
    "[DONE]",
  ];
  const url = await serve((response) => stream(response, STARTED, ...odd, text("fine"), FINISHED).end());
  const signals = await run(url, { state: "artifact" });
  expect(signals.filter(({ type }) => type === "text")).toHaveLength(1);
  expect(signals.at(-1)).toEqual({ type: "completed" });
});

test("a control character before the JSON, CRLF and comments are read over", async () => {
  const url = await serve((response) => {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    response.end(
      `: hello\r\n\r\ndata: \u001e${STARTED}\r\n\r\ndata: ${text("x")}\r\n\r\ndata: ${FINISHED}\r\n\r\n`,
    );
  });
  expect((await run(url)).map(({ type }) => type)).toEqual(["accepted", "text", "completed"]);
});

test("a stream that stays open after the run's end is left, on our own clock", async () => {
  for (const [last, drain] of [
    ['{"type":"RUN_FINISHED","outcome":{"type":"success"}}', 500],
    [FINISHED, 2_000],
  ] as const) {
    let closed: Promise<unknown> | undefined;
    const url = await serve((response) => {
      closed = once(response, "close");
      stream(response, STARTED, text("x"), last);
    });
    const clock = new ManualClock();
    const running = run(url, { clock });
    // The timer of the drain stands beside that of silence.
    await expect.poll(() => clock.pending, { timeout: 5_000 }).toBe(2);
    await clock.advance(drain);
    expect((await running).at(-1)).toEqual({ type: "completed" });
    await closed;
  }
});

test("silence on an open stream is a loss; a comment is a sign of life", async () => {
  let response: ServerResponse | undefined;
  const url = await serve((own) => {
    response = stream(own, STARTED);
  });
  const clock = new ManualClock();
  const remote = agui({ name: "odd", url, clock, limits: { idleTimeoutMs: 60_000 } });
  cleanups.push(() => remote.close());
  const signals: RemoteSignal[] = [];
  const running = (async () => {
    for await (const signal of remote.start(TASK, never())) signals.push(signal);
  })();
  await expect.poll(() => signals.length, { timeout: 5_000 }).toBe(1);
  await expect.poll(() => clock.pending, { timeout: 5_000 }).toBe(1);
  await clock.advance(59_000);
  expect(signals).toHaveLength(1);
  response?.write(": alive\n\n");
  await expect
    .poll(
      async () => {
        await clock.advance(1_000);
        return signals.length;
      },
      { timeout: 20_000, interval: 5 },
    )
    .toBe(2);
  await running;
  expect(signals.at(-1)).toMatchObject({ type: "disconnected" });
});

test("the credential is in nothing that is shown, whatever the server says back", async () => {
  const url = await serve((response) =>
    stream(
      response,
      STARTED,
      text("It is tok-1234567"),
      text("890-secret."),
      JSON.stringify({ type: "TOOL_CALL_START", toolCallId: "t", toolCallName: TOKEN }),
      JSON.stringify({ type: "CUSTOM", name: "x", value: TOKEN }),
      JSON.stringify({ type: "RUN_ERROR", message: `bad ${TOKEN}`, code: TOKEN }),
    ).end(),
  );
  const auth = { mode: "bearer", token: TOKEN } as const;
  const signals = await run(url, { auth });
  expect(JSON.stringify(signals)).not.toContain(TOKEN);
  const said = signals.map((signal) => (signal.type === "text" ? signal.delta : "")).join("");
  expect(said).toBe("It is [redacted].");
  const refusing = await serve((response) => json(response, 400, { error: `no ${TOKEN}` }));
  expect(JSON.stringify(await run(refusing, { auth }))).not.toContain(TOKEN);
});

test("a server that begins a run and never ends it is left when the task is", async () => {
  let closed: Promise<unknown> | undefined;
  const url = await serve((response) => {
    closed = once(response, "close");
    stream(response, STARTED);
  });
  const remote = agui({ name: "odd", url });
  const signals: RemoteSignal[] = [];
  for await (const signal of remote.start(TASK, never())) {
    signals.push(signal);
    setImmediate(() => void remote.close());
  }
  await closed;
  expect(signals.at(-1)).toMatchObject({ type: "disconnected", message: expect.stringContaining("host") });
});
