import { once } from "node:events";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { RemoteInput, RemoteSignal } from "../../delegation/remote.js";
import { SseParser } from "../../wire/sse-reader.js";
import { agui } from "./agui.js";
import { EventMapper } from "./event-mapper.js";
import type { AguiOptions } from "./options.js";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** One recorded call. */
interface Exchange {
  readonly request: Readonly<Record<string, unknown>>;
  readonly contentType: string;
  readonly status: number;
  readonly body: string;
  /** Ended by a reset rather than properly. */
  readonly reset: boolean;
}

const folder = new URL("./fixtures/", import.meta.url);

async function recorded(file: string): Promise<Exchange[]> {
  const text = await readFile(new URL(file, folder), "utf8");
  return text
    .split(/^>>> /m)
    .slice(1)
    .map((section) => {
      const [request = "", answer = ""] = section.split("<<< HTTP/1.1 ");
      const json = request.slice(request.indexOf("\n\n") + 2).trim();
      const at = answer.search(/^\[\+/m);
      return {
        request: json.startsWith("{") && json.endsWith("}") ? JSON.parse(json) : {},
        contentType: /^content-type: (.*)$/m.exec(answer)?.[1] ?? "",
        status: Number(answer.slice(0, 3)),
        body: (at < 0 ? "" : answer.slice(at)).replace(
          /^(?:\[(?:\+\d+ ms|end|aborted|destroyed).*\]|# .*)\n?/gm,
          "",
        ),
        reset: /^\[(?:aborted|destroyed)/m.test(answer),
      };
    });
}

/** Serves recorded calls one after the other, and returns what the remote makes of them. */
async function replay(
  exchanges: readonly Exchange[],
  answer?: RemoteInput,
  options: Partial<AguiOptions> = {},
) {
  const left = [...exchanges];
  const requests: Record<string, unknown>[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (bytes) => (body += bytes));
    request.on("end", () => {
      requests.push(JSON.parse(body));
      const exchange = left.shift();
      if (exchange === undefined) return void response.writeHead(500).end();
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
  cleanups.push(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`;
  const remote = agui({ name: "peer", url, ...options });
  cleanups.push(() => remote.close());
  const signals: RemoteSignal[] = [];
  const never = new AbortController().signal;
  const { messages = [] } = exchanges[0]?.request ?? {};
  const [own] = messages as { id: string; content: string }[];
  const task = {
    delegationId: "del-1",
    messageId: own?.id ?? "m1",
    text: own?.content ?? "go",
    artifacts: [],
    metadata: { troupe: { lineage: [] } },
  };
  for await (const signal of remote.start(task, never)) {
    signals.push(signal);
    if (signal.type === "input_required" && answer !== undefined)
      await remote.answer?.({ taskId: "del-1" }, answer, never);
    else if (signal.type === "input_required") break;
  }
  return { signals, requests, ...summary(signals) };
}

function summary(signals: readonly RemoteSignal[]) {
  const all = (type: "text" | "reasoning") =>
    signals.map((signal) => (signal.type === type ? signal.delta : "")).join("");
  return {
    text: all("text"),
    reasoning: all("reasoning"),
    tools: signals.flatMap((signal) => {
      if (signal.type === "tool.start") return [`start ${signal.name}`];
      if (signal.type === "tool.result") return [`result ${signal.content}`];
      return signal.type === "tool.end" ? ["end"] : [];
    }),
    last: signals.at(-1),
  };
}

const GREETING = "Hello from the scripted model.";
const TOOL_TEXT = 'I will use a tool. The tool said: {"sum":3}.';
const PEERS = ["mastra", "strands", "tanstack", "voltagent"] as const;

describe("recorded runs: the right text once, the right tools, the right end", () => {
  test.each(PEERS)("%s: a plain answer", async (peer) => {
    const seen = await replay(await recorded(`${peer}/01-plain.txt`));
    expect(seen.text).toBe(GREETING);
    expect(seen.last).toEqual({ type: "completed" });
    expect(seen.signals[0]).toMatchObject({ type: "accepted", taskId: "del-1" });
  });

  test.each(PEERS)(
    "%s: reasoning and a tool of its own, also where a step ends with RUN_FINISHED",
    async (peer) => {
      const seen = await replay(await recorded(`${peer}/02-tool.txt`));
      expect(seen.text).toBe(TOOL_TEXT);
      expect(seen.tools).toEqual(["start add", "end", 'result {"sum":3}']);
      expect(seen.last).toEqual({ type: "completed" });
      if (peer === "tanstack") expect(seen.reasoning).toBe("Let me think about it.");
    },
  );

  test("strands: reasoning of the responses API", async () => {
    const seen = await replay(await recorded("strands/12-reasoning-responses-api.txt"));
    expect(seen.reasoning).toBe("Let me think about it.");
    expect(seen.last).toEqual({ type: "completed" });
  });

  test.each([
    ["mastra", "input_required"],
    ["strands", "input_required"],
    ["tanstack", "input_required"],
    ["voltagent", "completed"],
  ] as const)("%s: a call that only the caller could answer ends as %s", async (peer, type) => {
    const seen = await replay(await recorded(`${peer}/03-frontend-tool.txt`));
    expect(seen.last).toMatchObject({ type });
    if (type === "input_required")
      expect(seen.last).toMatchObject({ prompt: expect.stringContaining('{"colour":"blue"}') });
  });

  test.each(PEERS)("%s: that call, answered in another run", async (peer) => {
    const [first = [], second = []] = await Promise.all(
      ["03-frontend-tool.txt", "04-frontend-tool-result.txt"].map((file) => recorded(`${peer}/${file}`)),
    );
    if (peer === "voltagent") return;
    const seen = await replay([...first, ...second], { text: "blue" });
    expect(seen.last).toEqual({ type: "completed" });
    expect(seen.requests[1]).toMatchObject({ threadId: seen.requests[0]?.threadId, parentRunId: "del-1" });
    if (peer === "tanstack") return expect(seen.requests[1]?.resume).toHaveLength(1);
    const sent = seen.requests[1]?.messages as { role: string; toolCalls?: unknown[] }[];
    expect(sent.at(-1)).toMatchObject({ role: "tool", content: "blue" });
    expect(sent.some(({ role, toolCalls }) => role === "assistant" && toolCalls?.length === 1)).toBe(true);
  });

  test.each([
    ["mastra", { type: "disconnected" }],
    ["strands", { type: "failed", remoteStatus: "STRANDS_ERROR" }],
    ["tanstack", { type: "failed" }],
    ["voltagent", { type: "failed", message: "scripted model error" }],
  ] as const)("%s: the model fails; the first error wins over what follows it", async (peer, last) => {
    expect((await replay(await recorded(`${peer}/05-model-error.txt`))).last).toMatchObject(last);
  });

  test.each([
    ["mastra", "disconnected"],
    ["strands", "failed"],
    ["tanstack", "failed"],
    ["voltagent", "failed"],
  ] as const)("%s: the model dies in the middle; what was said is kept", async (peer, type) => {
    const seen = await replay(await recorded(`${peer}/06-model-cut.txt`));
    expect(seen.text).toBe("This will be ");
    expect(seen.last).toMatchObject({ type });
  });

  test.each(PEERS)("%s: an answer without a word is a success without a word", async (peer) => {
    const seen = await replay(await recorded(`${peer}/07-empty.txt`));
    expect(seen).toMatchObject({ text: "", last: { type: "completed" } });
  });

  test.each(PEERS)("%s: a stream that only ends is no success (ag-ui 2300)", async (peer) => {
    const seen = await replay(await recorded(`${peer}/08-abort.txt`));
    expect(seen.text).toMatch(/^piece 1 /);
    expect(seen.last?.type).toBe("disconnected");
  });

  test.each([
    ["strands", { code: "remote_rejected" }],
    ["tanstack", { code: "remote_rejected", message: expect.stringContaining("HTTP 400") }],
    ["voltagent", { code: expect.stringMatching(/^remote_/) }],
  ] as const)("%s: a request that it does not understand", async (peer, last) => {
    const [exchange] = await recorded(`${peer}/11-bad-missing-fields.txt`);
    if (exchange === undefined) throw new Error("nothing recorded");
    expect((await replay([exchange])).last).toMatchObject({
      type: "failed",
      ...(exchange.status < 400 ? {} : last),
    });
  });
});

describe("recorded interrupts: asked once, answered in the server's way", () => {
  test("standard, Mastra: the schema is the server's, words become its one member", async () => {
    const exchanges = await recorded("resume/mastra.txt");
    const seen = await replay(exchanges.slice(0, 2), { text: "blue" });
    const asked = seen.signals.filter(({ type }) => type === "input_required");
    expect(asked).toEqual([
      {
        type: "input_required",
        prompt: expect.stringContaining("Which colour?"),
        schema: expect.objectContaining({ required: ["answer"] }),
      },
    ]);
    expect(seen.requests[1]).toMatchObject({
      resume: exchanges[1]?.request.resume,
      parentRunId: "del-1",
      // It spoke LangGraph's way as well.
      forwardedProps: { command: { resume: { answer: "blue" } } },
    });
    expect(seen.text).toBe('I will use a tool. The tool said: {"answer":"blue"}.');
    expect(seen.last).toEqual({ type: "completed" });
  });

  test.each([
    ["tanstack", { text: "yes" }, { approved: true }, '{"done":1}'],
    ["tanstack-denied", { data: { approved: false } }, { approved: false }, ""],
  ] as const)(
    "%s: needs the run that was interrupted; the result comes before RUN_STARTED",
    async (file, answer, payload, said) => {
      const exchanges = await recorded(`resume/${file}.txt`);
      const seen = await replay(exchanges.slice(0, 2), answer);
      expect(seen.requests[1]).toMatchObject({
        parentRunId: "del-1",
        runId: "del-1-2",
        resume: [
          {
            interruptId: "approval_call_27_0".replace(
              /\d+_0/,
              /call_\d+_0/.exec(JSON.stringify(exchanges[1]?.request.resume))?.[0].slice(5) ?? "",
            ),
            status: "resolved",
            payload,
          },
        ],
      });
      expect(seen.text).toContain(said);
      expect(seen.last).toEqual({ type: "completed" });
      expect(seen.tools.filter((line) => line.startsWith("start"))).toEqual(["start danger"]);
    },
  );

  test("LangGraph: CUSTOM on_interrupt before a RUN_FINISHED that looks like success", async () => {
    const exchanges = await recorded("resume/langgraph-command.txt");
    const seen = await replay(exchanges.slice(0, 2), { text: "blue" });
    expect(seen.signals).toContainEqual({ type: "input_required", prompt: "Which colour?" });
    expect(seen.requests[1]).toMatchObject({ forwardedProps: { command: { resume: "blue" } } });
    expect(seen.requests[1]?.messages).toEqual(exchanges[1]?.request.messages);
    expect(seen.text).toBe('I will use a tool. The tool said: {"answer":"blue"}.');
    expect(seen.tools).toEqual(["start ask", "end", 'result {"answer":"blue"}']);
    expect(seen.last).toEqual({ type: "completed" });
  });

  test("CopilotKit: an interrupt without a schema, after the text", async () => {
    const exchanges = await recorded("resume/copilotkit-builtin.txt");
    const seen = await replay(exchanges.slice(0, 2), { text: "yes" });
    expect(seen.signals).toContainEqual(
      expect.objectContaining({
        type: "input_required",
        prompt: 'May I?\ndanger({"x":1})',
        schema: expect.objectContaining({ required: ["approved"] }),
      }),
    );
    expect(seen.requests[1]?.resume).toEqual(exchanges[1]?.request.resume);
    expect(seen.last).toEqual({ type: "completed" });
  });
});

/** All recorded streams, with their names. */
async function streams(): Promise<(readonly [string, Buffer])[]> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".txt"),
  );
  const all = await Promise.all(
    files.map(async (file) =>
      (await recorded(file))
        .filter(({ contentType }) => contentType.startsWith("text/event-stream"))
        .map(({ body }, index) => [`${file} ${index}`, Buffer.from(body)] as const),
    ),
  );
  return all.flat();
}

function signalsOf(bytes: Buffer, cuts: readonly number[]): RemoteSignal[] {
  const parser = new SseParser();
  const mapper = new EventMapper({ messageId: "m" });
  const signals: RemoteSignal[] = [];
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (let index = 1; index < edges.length; index++) {
    for (const { data } of parser.push(bytes.subarray(edges[index - 1], edges[index])))
      signals.push(...mapper.map(JSON.parse(data)));
  }
  return [...signals, ...mapper.end()];
}

test("any split of the bytes gives the same signals", async () => {
  const all = (await streams()).filter(([, bytes]) => bytes.length < 20_000);
  expect(all.length).toBeGreaterThan(30);
  fc.assert(
    fc.property(fc.constantFrom(...all), fc.array(fc.nat(), { maxLength: 40 }), ([, bytes], cuts) => {
      expect(signalsOf(bytes, cuts)).toEqual(signalsOf(bytes, []));
    }),
    { numRuns: 300 },
  );
});
