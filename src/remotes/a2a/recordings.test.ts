import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { RemoteInput, RemoteSignal } from "../../delegation/remote.js";
import { HurriedClock } from "../../testing/a2a/hurried-clock.js";
import { a2a } from "./a2a.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Rpc = { readonly id: unknown; readonly method: string; readonly params: Record<string, unknown> };

/** One recorded call. */
interface Exchange {
  readonly method: string;
  readonly contentType: string;
  readonly status: number;
  readonly body: string;
  /** Ended by a reset rather than properly. */
  readonly reset: boolean;
}

/** The calls of a recorded session, or of those of its sections that are named. */
async function recorded(file: string, ...sections: string[]): Promise<Exchange[]> {
  const text = await readFile(new URL(`./fixtures/${file}`, import.meta.url), "utf8");
  const titles = text.split(/^# /m).slice(1);
  const chosen = titles.filter(
    (section) => sections.length === 0 || sections.includes(section.split("\n", 1)[0] ?? ""),
  );
  return chosen
    .filter((section) => section.includes(">>> POST"))
    .map((section) => {
      const [request = "", answer = ""] = section.split("<<< HTTP/1.1 ");
      const body = answer
        .slice(answer.search(/^\[/m))
        .replace(/^\[(?:\+\d+ ms|end|limit|aborted|destroyed).*\]\n?/gm, "");
      return {
        method: /"method":"([^"]+)"/.exec(request)?.[1] ?? "",
        contentType: /^content-type: (.*)$/m.exec(answer)?.[1] ?? "",
        status: Number(answer.slice(0, 3)),
        body,
        reset: /^\[(?:aborted|destroyed)/m.test(answer),
      };
    });
}

const stream = async (file: string): Promise<Exchange[]> => [
  {
    method: "message/stream",
    contentType: "text/event-stream",
    status: 200,
    body: await readFile(new URL(`./fixtures/${file}`, import.meta.url), "utf8"),
    reset: false,
  },
];

interface ReplayOptions {
  /** The member of version 1.0; otherwise the card is one of version 0.3. */
  readonly modern?: boolean;
  /** What the recorded card says; its absence is part of the recording. */
  readonly protocolVersion?: string | undefined;
  /** Answers to looks at the task, in order; the last one stays. */
  readonly looks?: readonly unknown[];
  readonly answer?: RemoteInput;
  /** Cancels the task once text has come. */
  readonly cancel?: boolean;
}

/** Serves recorded calls, each to the next call of its method, and returns what the remote makes of them. */
async function replay(exchanges: readonly Exchange[], options: ReplayOptions = {}) {
  const left = [...exchanges];
  const looks = [...(options.looks ?? [])];
  const calls: Rpc[] = [];
  const server = createServer((request, response) => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/rpc`;
    const { modern, protocolVersion } = options;
    const named = modern
      ? { supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }] }
      : { url, protocolVersion };
    if (request.method === "GET")
      return void response.end(JSON.stringify({ name: "Peer", capabilities: { streaming: true }, ...named }));
    let body = "";
    request.on("data", (bytes) => (body += bytes));
    request.on("end", async () => {
      const rpc = JSON.parse(body) as Rpc;
      calls.push(rpc);
      const at = left.findIndex(({ method }) => method === rpc.method);
      const exchange = at < 0 ? undefined : left.splice(at, 1)[0];
      if (exchange === undefined) {
        const result = looks.length > 1 ? looks.shift() : looks[0];
        const answer =
          /get/i.test(rpc.method) && result !== undefined
            ? { result }
            : { error: { code: -32601, message: "Not recorded" } };
        response.setHeader("content-type", "application/json");
        return void response.end(JSON.stringify({ jsonrpc: "2.0", id: rpc.id, ...answer }));
      }
      response.writeHead(exchange.status, { "content-type": exchange.contentType });
      // In pieces, so that lines and characters are cut.
      const bytes = Buffer.from(exchange.body);
      for (let offset = 0; offset < bytes.length; offset += 997)
        response.write(bytes.subarray(offset, offset + 997));
      if (exchange.reset) response.write("", () => response.socket?.destroy());
      else response.end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const agent = a2a({
    name: "peer",
    agentCardUrl: `${url}/card.json`,
    clock: new HurriedClock(),
    limits: { quietMs: 60 },
  });
  cleanups.push(
    () => server.close(),
    () => server.closeAllConnections(),
    () => agent.close(),
  );
  const signals: RemoteSignal[] = [];
  let taskId = "";
  let cancelling: Promise<unknown> | undefined;
  const task = { delegationId: "d", messageId: "m", text: "hello", artifacts: [], metadata: {} };
  for await (const signal of agent.start(task, new AbortController().signal)) {
    signals.push(signal);
    const never = new AbortController().signal;
    if (signal.type === "accepted") taskId = signal.taskId ?? "";
    if (signal.type === "input_required" && options.answer)
      await agent.answer?.({ taskId }, options.answer, never);
    if (signal.type === "text" && options.cancel)
      cancelling ??= agent.cancel({ taskId }, { delegationId: "d", reason: "r" }, never);
  }
  return { ...told(signals), calls, methods: calls.map(({ method }) => method), cancelled: await cancelling };
}

/** What a person and the parent see. */
function told(signals: readonly RemoteSignal[]) {
  const join = (type: "text" | "reasoning") =>
    signals.map((signal) => (signal.type === type ? signal.delta : "")).join("");
  return {
    signals,
    types: [...new Set(signals.map(({ type }) => type))],
    text: join("text"),
    reasoning: join("reasoning"),
    tools: signals.filter(({ type }) => type.startsWith("tool.")),
    artifacts: signals.filter(({ type }) => type === "artifact"),
    statuses: signals.flatMap((signal) =>
      signal.type === "status" ? [signal.message ?? signal.status] : [],
    ),
    last: signals.at(-1),
  };
}

const SUM = 'I will use a tool. The tool said: {"sum":3}.';
const PIECES = "piece 1 piece 2 piece 3 piece 4 ";
const TWELVE = Array.from({ length: 12 }, (_, index) => `piece ${index + 1} `).join("");
const working = (id: string) => ({ id, contextId: "c", kind: "task", status: { state: "working" } });
const taskIdOf = (exchanges: readonly Exchange[]) =>
  /"(?:taskId|id)":"([0-9a-f-]{36})"/.exec(exchanges[0]?.body ?? "")?.[1] ?? "";

describe("recorded streams of foreign servers: the text once, tools apart, the right end", () => {
  test.each<[string, string, string, ReplayOptions]>([
    ["Python SDK 1.1.0, version 1.0, CRLF", "python/sdk-1.1.0-as-1.0", PIECES, { modern: true }],
    ["Python SDK 1.1.0, version 0.3", "python/sdk-1.1.0-as-0.3", PIECES, { protocolVersion: "0.3.0" }],
    ["Python SDK 0.3.26", "python/sdk-0.3.26", PIECES, { protocolVersion: "0.3.0" }],
    ["Mastra 1.71, version 1.0: response.txt is what it says", "mastra/v1.0", SUM, { modern: true }],
    ["Mastra 1.71, version 0.3", "mastra/v0.3", SUM, { protocolVersion: "0.3.0" }],
    ["Strands 1.19, whose card says 0.2.0", "strands", SUM, { protocolVersion: "0.2.0" }],
    ["a card without a version", "strands", SUM, {}],
    ["VoltAgent 2.0.3: U+001E, no kind, the whole text in every event", "voltagent", SUM, {}],
  ])("%s", async (_name, folder, text, options) => {
    const [exchange] = await stream(`${folder}/02-stream.sse`);
    const method = options.modern ? "SendStreamingMessage" : "message/stream";
    const seen = await replay([{ ...(exchange as Exchange), method }], options);
    expect(seen.methods).toEqual([method]);
    expect(seen.text).toBe(text);
    expect(seen.types.filter((type) => type !== "status")).toEqual(["accepted", "text", "completed"]);
    expect(seen.last).toEqual({ type: "completed" });
  });

  test("a server that takes only the old method names gets them, once it has refused the new ones", async () => {
    const seen = await replay(await stream("strands/02-stream.sse"), { modern: true });
    expect(seen.methods).toEqual(["SendStreamingMessage", "message/stream"]);
    expect(seen.text).toBe(SUM);
  });

  test("ADK 2.0: the final replacement adds nothing, thoughts and tools are no text and no artifact", async () => {
    const seen = await replay(await stream("adk-js/02-stream.sse"), { protocolVersion: "0.3.0" });
    expect(seen.text).toBe(SUM);
    expect(seen.reasoning).toBe("Let me think about it.");
    expect(seen.artifacts).toEqual([]);
    const toolCallId = "adk-994dcfb9-cfa4-4c69-a78f-164e8b53e5a9";
    expect(seen.tools).toEqual([
      { type: "tool.start", toolCallId, name: "add" },
      { type: "tool.args", toolCallId, delta: '{"a":1,"b":2}' },
      { type: "tool.end", toolCallId },
      { type: "tool.result", toolCallId, content: '{"sum":3}', isError: false },
    ]);
    expect(seen.last).toEqual({ type: "completed" });
  });

  test("gemini-cli 0.25.2: text in statuses, cumulative screens, a turn that ends as silent input-required", async () => {
    const seen = await replay(await stream("gemini/02-stream.sse"), { protocolVersion: "0.3.0" });
    expect(seen.text).toMatch(/^I will use a tool\. The tool said: \{"output":"Command: .*\}\.$/s);
    expect(seen.reasoning).toBe("Let me\nthink about it.\n");
    expect(seen.artifacts).toEqual([]);
    expect(seen.tools.map(({ type }) => type)).toEqual([
      "tool.start",
      "tool.args",
      "tool.end",
      "tool.result",
    ]);
    expect(seen.tools[3]).toMatchObject({
      content: expect.stringContaining("Output: onetwo"),
      isError: false,
    });
    expect(seen.statuses).toEqual(["submitted", "working"]);
    expect(seen.last).toEqual({ type: "completed" });
  });
});

describe("recorded questions and their answers", () => {
  test("Mastra: a suspended tool asks by a schema and gets data", async () => {
    const exchanges = await recorded("mastra/12-suspend.txt");
    const seen = await replay(exchanges.slice(0, 2), {
      protocolVersion: "0.3.0",
      looks: [{ ...working("x"), status: { state: "input-required" } }],
      answer: { data: { answer: "blue" } },
    });
    const asked = seen.signals.find(({ type }) => type === "input_required");
    expect(asked).toEqual({
      type: "input_required",
      prompt: "Additional input is required to continue this task.\nWhich colour?",
      schema: expect.objectContaining({ type: "object", required: ["answer"] }),
    });
    const second = seen.calls.filter(({ method }) => method === "message/stream")[1];
    expect(second?.params.message).toMatchObject({
      taskId: taskIdOf(exchanges),
      contextId: expect.stringMatching(/\S/),
      parts: [{ kind: "data", data: { answer: "blue" } }],
    });
    expect(seen.text).toBe('I will use a tool. The tool said: {"answer":"blue"}.');
    expect(seen.last).toEqual({ type: "completed" });
  });

  test("Mastra: an approval names the tool and what it takes", async () => {
    const exchanges = await recorded("mastra/12-approval.txt");
    const seen = await replay(exchanges.slice(0, 2), {
      protocolVersion: "0.3.0",
      looks: [{ ...working("x"), status: { state: "input-required" } }],
      answer: { data: { approved: true } },
    });
    expect(seen.signals.find(({ type }) => type === "input_required")).toMatchObject({
      prompt: 'Additional input is required to continue this task.\nTool "danger"',
      schema: { required: ["approved"] },
    });
    expect(seen.last?.type).toBe("completed");
  });

  test("ADK: a long-running tool's question is answered by words", async () => {
    const exchanges = await recorded("adk-js/12-input-required.txt");
    const seen = await replay(exchanges.slice(0, 2), {
      protocolVersion: "0.3.0",
      looks: [{ ...working("x"), status: { state: "input-required" } }],
      answer: { text: "blue" },
    });
    expect(seen.signals.find(({ type }) => type === "input_required")).toEqual({
      type: "input_required",
      prompt: "Which colour?",
    });
    expect(seen.text).toContain("Hello from the scripted model.");
    expect(seen.last).toEqual({ type: "completed" });
  });

  test("gemini-cli: an approval, and its end when the connection it was tied to is gone", async () => {
    const exchanges = await recorded("gemini/12-approval.txt");
    const seen = await replay(exchanges.slice(0, 2), {
      protocolVersion: "0.3.0",
      looks: [{ ...working("x"), status: { state: "input-required" } }],
      answer: { data: { callId: "c", outcome: "proceed_once" } },
    });
    expect(seen.signals.find(({ type }) => type === "input_required")).toMatchObject({
      prompt: expect.stringContaining('May the tool "run_shell_command" run'),
      schema: { required: ["callId", "outcome"] },
    });
    expect(seen.last).toMatchObject({
      type: "failed",
      code: "stream_interrupted",
      message: expect.stringContaining("Execution aborted by client."),
    });
  });

  test.each([
    ["python/directives-v03.txt", { protocolVersion: "0.3.0" }],
    ["python/directives-v11.txt", { modern: true }],
  ])("Python, %s: a question, words, and the end", async (file, options) => {
    const exchanges = await recorded(file, "#ask", "#ask answered");
    const seen = await replay(exchanges, {
      ...options,
      looks: [{ ...working("x"), status: { state: "input-required" } }],
      answer: { text: "blue" },
    });
    expect(seen.signals.find(({ type }) => type === "input_required")).toMatchObject({
      prompt: "Which colour?",
    });
    expect(seen.last?.type).toBe("completed");
  });
});

describe("recorded ends", () => {
  test.each<[string, string, ReplayOptions, object]>([
    ["python/directives-v03.txt", "#message", { protocolVersion: "0.3.0" }, { type: "completed" }],
    ["python/directives-v11.txt", "#message", { modern: true }, { type: "completed" }],
    [
      "python/directives-v03.txt",
      "#reject",
      { protocolVersion: "0.3.0" },
      { type: "rejected", message: "Not my job." },
    ],
    ["python/directives-v11.txt", "#reject", { modern: true }, { type: "rejected", message: "Not my job." }],
    ["python/directives-v11.txt", "#fail", { modern: true }, { type: "failed", message: "It did not work." }],
    [
      "python/directives-v03.txt",
      "#raise",
      { protocolVersion: "0.3.0", looks: [{ ...working("x"), status: { state: "submitted" } }] },
      // The task stays as it is for ever.
      { type: "failed", code: "remote_timeout" },
    ],
    [
      "python/directives-v11.txt",
      "#raise",
      { modern: true, looks: [{ id: "x", status: { state: "TASK_STATE_FAILED" } }] },
      { type: "failed", remoteStatus: "failed" },
    ],
    ["adk-js/13-model-error.txt", "#error 500", { protocolVersion: "0.3.0" }, { type: "failed" }],
    ["adk-js/13-model-error.txt", "#cut", { protocolVersion: "0.3.0" }, { type: "failed" }],
    ["mastra/13-model-error.txt", "#error 500", { protocolVersion: "0.3.0" }, { type: "failed" }],
    ["strands/13-model-error.txt", "#error 500", { protocolVersion: "0.2.0" }, { type: "failed" }],
  ])("%s, %s", async (file, section, options, last) => {
    const exchanges = await recorded(file, section);
    expect(exchanges).toHaveLength(1);
    const seen = await replay(exchanges, options);
    expect(seen.last).toMatchObject(last);
  });

  test("VoltAgent: an error within the stream, and the failed task behind it", async () => {
    const [first] = await recorded("voltagent/13-model-error.txt");
    const failed = { state: "failed", message: { role: "agent", parts: [{ kind: "text", text: "broken" }] } };
    const seen = await replay([first as Exchange], { looks: [{ id: "x", status: failed }] });
    expect(seen.last).toEqual({ type: "failed", message: "broken", remoteStatus: "failed" });
  });

  test.each([
    ["adk-js", "pending", "completed"],
    ["strands", "pending", "completed"],
    ["mastra/v0.3", undefined, "cancelled"],
    ["gemini", "cancelled", "cancelled"],
    ["python/sdk-0.3.26", "cancelled", undefined],
  ])("cancel in mid-stream at %s", async (folder, answer, last) => {
    const exchanges = await recorded(`${folder}/09-cancel-midstream.txt`);
    const seen = await replay(exchanges, {
      protocolVersion: "0.3.0",
      looks: [working("x")],
      cancel: true,
    });
    if (answer !== undefined) expect(seen.cancelled).toMatchObject({ outcome: answer });
    if (last !== undefined) expect(seen.last?.type).toBe(last);
  });

  test.each([
    ["adk-js", TWELVE],
    ["strands", TWELVE],
    ["python/sdk-0.3.26", TWELVE],
    ["python/sdk-1.1.0-as-0.3", TWELVE],
  ])("a drop at %s, which goes on: the text is whole", async (folder, text) => {
    const exchanges = await recorded(`${folder}/10-drop-and-subscribe.txt`);
    const seen = await replay(exchanges, {
      protocolVersion: "0.3.0",
      looks: [working(taskIdOf(exchanges))],
    });
    expect(seen.methods.slice(0, 3)).toEqual(["message/stream", "tasks/get", "tasks/resubscribe"]);
    expect(seen.text).toBe(text);
    expect(seen.last?.type).toBe("completed");
  });

  test.each([
    ["mastra/v0.3", { type: "cancelled", message: "Task canceled because the request was aborted." }],
    ["gemini", { type: "failed", code: "stream_interrupted" }],
  ])("a drop at %s, which ends the task", async (folder, last) => {
    const exchanges = await recorded(`${folder}/10-drop-and-subscribe.txt`);
    const seen = await replay(exchanges, {
      protocolVersion: "0.3.0",
      looks: [working(taskIdOf(exchanges))],
    });
    expect(seen.last).toMatchObject(last);
  });

  test("a drop at VoltAgent, which hangs: our own limit ends it", async () => {
    const exchanges = await recorded("voltagent/10-drop-and-subscribe.txt");
    const seen = await replay(exchanges, { looks: [{ id: "x", status: { state: "working" } }] });
    expect(seen.last).toMatchObject({ type: "failed", code: "remote_timeout" });
  });
});
