import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { McpServer } from "../src/core/mcp-server.js";
import { claude } from "../src/drivers/claude/claude.js";
import type { ClaudeOptions } from "../src/drivers/claude/options.js";
import { trackedGroups } from "../src/drivers/process/process-group.js";
import { startToolServer, type ToolServer, type ToolServerTool } from "../src/testing/claude/tool-server.js";
import { type DriverRun, type DriverRunOptions, startDriver } from "../src/testing/driver-run.js";
import { type MessagesServer, startMessagesServer } from "../src/testing/messages/messages-server.js";
import type { MessagesBlock, MessagesScript } from "../src/testing/messages/script.js";
import { type RealClaude, realClaude } from "./real-claude.js";

const TOKEN = "t0ken-that-nobody-may-see";
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  expect(trackedGroups()).toEqual([]);
});

interface Scene {
  readonly api: MessagesServer;
  readonly program: RealClaude;
  run(options?: DriverRunOptions & { readonly options?: ClaudeOptions }): DriverRun;
}

async function scene(script: MessagesScript, legacy = false): Promise<Scene> {
  const api = await startMessagesServer({ script });
  closing.push(() => api.close());
  const program = await realClaude({ baseUrl: api.url, legacy });
  closing.push(() => program.close());
  return {
    api,
    program,
    run: ({ options, env, ...rest } = {}) =>
      startDriver(claude({ executable: program.executable, ...options }), {
        workspace: program.workspace,
        env: { ...program.env, ...env },
        ...rest,
      }),
  };
}

async function serve(
  tools: Readonly<Record<string, ToolServerTool>>,
  trusted = true,
): Promise<{ server: ToolServer; mcp: McpServer }> {
  const server = await startToolServer({ tools, token: TOKEN });
  closing.push(() => server.close());
  const headers = { Authorization: `Bearer ${TOKEN}` };
  return {
    server,
    mcp: { name: "a2a-subagents", transport: "http", url: server.url, headers, trusted, timeoutMs: 600_000 },
  };
}

const text = (value: string): MessagesBlock => ({ type: "text", text: value });
const use = (id: string, name: string, input: Record<string, unknown> = {}): MessagesBlock => ({
  type: "tool_use",
  id,
  name,
  input,
});
const DELEGATE = "mcp__a2a-subagents__delegate_to_agent";
const answer: ToolServerTool = {
  readOnly: true,
  call: (input) => ({
    content: [{ type: "text", text: "a long text" }],
    structuredContent: { summary: `done ${JSON.stringify(input)}` },
  }),
};
const endless: ToolServerTool = {
  readOnly: true,
  call: (_, context) =>
    new Promise((resolve) => {
      context.mcpReq.signal.addEventListener("abort", () => resolve({ content: [] }), { once: true });
    }),
};

test("a text turn, word for word and once", async () => {
  const { api, run } = await scene([
    {
      content: [
        { type: "thinking", thinking: "Hm." },
        text("Hello, this is the scripted model."),
        text("And more."),
      ],
    },
  ]);
  const { outcome, events, text: said } = run({ prompt: "Greet me" });
  expect(await outcome).toMatchObject({
    status: "finished",
    text: "And more.",
    usage: { inputTokens: 10, outputTokens: 5 },
  });
  expect(said()).toBe("Hello, this is the scripted model.And more.");
  expect(events.flatMap((event) => (event.type === "reasoning.delta" ? event.delta : [])).join("")).toBe(
    "Hm.",
  );
  expect(api.requests).toHaveLength(1);
  expect(api.requests[0]?.conversation.prompt).toContain("Greet me");
});

describe.each([{ legacy: false }, { legacy: true }])("MCP legacy: $legacy", ({ legacy }) => {
  test("two calls of one message run side by side; the model sees only the structured results", async () => {
    const calls = [use("toolu_A", DELEGATE, { agent: "a" }), use("toolu_B", DELEGATE, { agent: "b" })];
    const { api, run } = await scene(
      [{ content: [text("I ask."), ...calls] }, { content: [text("Both done.")] }],
      legacy,
    );
    let open = 0;
    let both: () => void = () => {};
    const overlap = new Promise<void>((resolve) => {
      both = resolve;
    });
    const { server, mcp } = await serve({
      delegate_to_agent: {
        readOnly: true,
        call: async (input, context) => {
          open += 1;
          if (open === 2) both();
          await overlap;
          return answer.call(input, context);
        },
      },
    });
    const { outcome, events } = run({ mcpServers: [mcp] });
    expect(await outcome).toMatchObject({ status: "finished", text: "Both done." });
    expect(server.calls.map((call) => call.meta["claudecode/toolUseId"]).sort()).toEqual([
      "toolu_A",
      "toolu_B",
    ]);
    expect(api.requests[0]?.conversation.tools).toContain(DELEGATE);
    const seen = api.requests[1]?.conversation.toolResults
      .map((result) => `${result.toolUseId} ${result.text}`)
      .sort();
    expect(seen).toEqual([
      'toolu_A {"summary":"done {\\"agent\\":\\"a\\"}"}',
      'toolu_B {"summary":"done {\\"agent\\":\\"b\\"}"}',
    ]);
    expect(events).toContainEqual({
      type: "tool.start",
      toolCallId: "toolu_A",
      name: DELEGATE,
      server: "a2a-subagents",
      tool: "delegate_to_agent",
    });
    expect(events).toContainEqual({
      type: "tool.result",
      toolCallId: "toolu_A",
      content: '{"summary":"done {\\"agent\\":\\"a\\"}"}',
      isError: false,
    });
    expect(events.filter((event) => event.type === "tool.end")).toHaveLength(2);
  });

  test("an interrupt in the middle of a call ends the run as cancelled", async () => {
    const { run } = await scene([{ content: [text("I ask."), use("toolu_A", DELEGATE)] }], legacy);
    const { server, mcp } = await serve({ delegate_to_agent: endless });
    const { outcome, cancel, events } = run({ mcpServers: [mcp] });
    await server.received(1);
    cancel();
    expect(await outcome).toMatchObject({
      status: "cancelled",
      terminal: { terminal_reason: "aborted_tools" },
    });
    expect(events).toContainEqual(
      expect.objectContaining({ type: "tool.result", toolCallId: "toolu_A", isError: true }),
    );
    if (!legacy) expect(server.calls[0]?.aborted).toBe(true);
  });
});

test("case 011: a cancel ends the commands of the program's shell too", async () => {
  const listener = createServer((socket) => socket.on("error", () => {})).listen(0, "127.0.0.1");
  closing.push(() => new Promise((resolve) => listener.close(() => resolve())));
  await once(listener, "listening");
  const port = (listener.address() as AddressInfo).port;
  const command = `exec ${process.execPath} -e 'require("net").connect(${port}, "127.0.0.1")'`;
  const { run } = await scene([{ content: [use("toolu_A", "Bash", { command })] }]);
  const { outcome, cancel } = run({ options: { allowedTools: ["Bash"] } });
  const [socket] = (await once(listener, "connection")) as [Socket];
  const closed = once(socket.resume(), "close");
  cancel();
  expect(await outcome).toMatchObject({ status: "cancelled" });
  await closed;
});

test("an interrupt in the middle of the text", async () => {
  const { run } = await scene([{ content: [text("Half a sen")], stall: true }]);
  const { outcome, cancel, events, seen } = run();
  await seen((event) => event.type === "text.delta");
  cancel();
  expect(await outcome).toMatchObject({ status: "cancelled" });
  expect(events.at(-2)).toMatchObject({ type: "text.end" });
  expect(events.at(-1)).toMatchObject({ type: "usage" });
});

test.skipIf(process.platform !== "linux")(
  "the token is in no argument, variable or file of the program",
  async () => {
    const { program, run } = await scene([
      { content: [use("toolu_A", DELEGATE)] },
      { content: [text("Done.")] },
    ]);
    const found: string[] = [];
    const pid = () => Number(/"pid":(\d+)/.exec(current?.raw.stdout ?? "")?.[1]);
    const { mcp } = await serve({
      delegate_to_agent: {
        call: () => {
          for (const file of ["cmdline", "environ"]) {
            if (readFileSync(`/proc/${pid()}/${file}`, "utf8").includes(TOKEN)) found.push(file);
          }
          return { content: [{ type: "text", text: "looked" }] };
        },
      },
    });
    let current: DriverRun | undefined;
    current = run({ mcpServers: [mcp], persist: true });
    expect(await current.outcome).toMatchObject({ status: "finished" });
    expect(pid()).toBeGreaterThan(1);
    const root = join(program.workspace, "..");
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && readFileSync(path, "utf8").includes(TOKEN)) found.push(path);
    }
    expect(found).toEqual([]);
    expect(JSON.stringify([current.raw, current.events])).not.toContain(TOKEN);
  },
);

test("a permission is asked; yes runs the tool, no reaches the model", async () => {
  const touch = (id: string, name: string) => use(id, "Bash", { command: `touch ${name}` });
  const { api, program, run } = await scene([
    { content: [touch("toolu_A", "yes"), touch("toolu_B", "no")] },
    { content: [text("So be it.")] },
  ]);
  const { outcome, questions } = run({
    approve: ({ request }) =>
      request.toolCallId === "toolu_A"
        ? { decision: "approve" }
        : { decision: "deny", message: "not this one" },
  });
  expect(await outcome).toMatchObject({ status: "finished", text: "So be it." });
  expect(questions.map(({ request }) => request)).toMatchObject([
    {
      kind: "permission",
      tool: "Bash",
      toolCallId: "toolu_A",
      input: { command: "touch yes" },
      title: "Use Bash: touch yes",
    },
    { kind: "permission", tool: "Bash", toolCallId: "toolu_B" },
  ]);
  expect([existsSync(join(program.workspace, "yes")), existsSync(join(program.workspace, "no"))]).toEqual([
    true,
    false,
  ]);
  expect(api.requests[1]?.conversation.toolResults).toMatchObject([
    { toolUseId: "toolu_A", isError: false },
    { toolUseId: "toolu_B", isError: true, text: "not this one" },
  ]);
});

test("a cancel withdraws a permission that nobody has given", async () => {
  const { run } = await scene([{ content: [use("toolu_A", "Bash", { command: "touch x" })] }]);
  const { outcome, questions, cancel } = run({
    approve: () => {
      setImmediate(() => cancel());
      return new Promise(() => {});
    },
  });
  expect(await outcome).toMatchObject({ status: "cancelled" });
  expect(questions[0]?.withdrawn.aborted).toBe(true);
});

test("the program's own question is answered by a person", async () => {
  const questions = [
    {
      question: "Which colour?",
      header: "Colour",
      multiSelect: false,
      options: [
        { label: "Red", description: "r" },
        { label: "Blue", description: "b" },
      ],
    },
  ];
  const { api, run } = await scene([
    { content: [use("toolu_Q", "AskUserQuestion", { questions })] },
    { content: [text("Blue it is.")] },
  ]);
  const { outcome } = run({ approve: () => ({ decision: "approve", input: { "Which colour?": "Blue" } }) });
  expect(await outcome).toMatchObject({ status: "finished" });
  expect(api.requests[1]?.conversation.toolResults[0]?.text).toContain('"Which colour?"="Blue"');
});

test("an MCP server's question is answered by a person", async () => {
  const { api, run } = await scene([
    { content: [use("toolu_A", "mcp__a2a-subagents__ask")] },
    { content: [text("Done.")] },
  ]);
  const { mcp } = await serve({
    ask: {
      call: (_, context) => {
        const given = context.mcpReq.inputResponses?.folder;
        if (given) return { content: [{ type: "text", text: JSON.stringify(given) }] };
        const requestedSchema = {
          type: "object" as const,
          properties: { folder: { type: "string" as const } },
          required: ["folder"],
        };
        return {
          resultType: "input_required",
          inputRequests: {
            folder: {
              method: "elicitation/create",
              params: { mode: "form", message: "Which folder?", requestedSchema },
            },
          },
        };
      },
    },
  });
  const { outcome, questions } = run({
    mcpServers: [mcp],
    approve: () => ({ decision: "approve", input: { folder: "/srv" } }),
  });
  expect(await outcome).toMatchObject({ status: "finished" });
  expect(questions[0]?.request).toMatchObject({
    kind: "question",
    title: "Which folder?",
    schema: { properties: { folder: { type: "string" } } },
  });
  expect(api.requests[1]?.conversation.toolResults[0]?.text).toBe(
    '{"action":"accept","content":{"folder":"/srv"}}',
  );
});

test("a native subagent in the background: its frames are nested, and the run waits for what it wakes", async () => {
  const { run } = await scene((conversation) => {
    const prompt = JSON.stringify(conversation.body.messages);
    if (conversation.tools.length > 0 && prompt.includes("OUTER")) {
      if (conversation.replies === 0)
        return {
          content: [
            use("toolu_N", "Agent", {
              description: "look",
              prompt: "INNER",
              subagent_type: "general-purpose",
            }),
          ],
        };
      return { content: [text(prompt.includes("task-notification") ? "Now I know." : "I wait.")] };
    }
    return {
      content:
        conversation.replies === 0
          ? [text("inner words"), use("toolu_I", "Bash", { command: "echo inner" })]
          : [text("inner done")],
    };
  });
  const {
    outcome,
    events,
    text: said,
  } = run({ prompt: "OUTER", options: { allowedTools: ["Bash"], extraArgs: ["--forward-subagent-text"] } });
  expect(await outcome).toMatchObject({ status: "finished", text: "Now I know." });
  expect(said()).toBe("I wait.Now I know.");
  expect(events).toContainEqual({
    type: "tool.start",
    toolCallId: "toolu_I",
    name: "Bash",
    parentToolCallId: "toolu_N",
  });
  expect(events).toContainEqual({
    type: "tool.result",
    toolCallId: "toolu_I",
    content: "inner",
    isError: false,
  });
});

test("a thread is gone on from; a fork leaves it; a session that is not there fails", async () => {
  const { api, run } = await scene([
    { content: [text("One.")] },
    { content: [text("Two.")] },
    { content: [text("Three.")] },
  ]);
  const first = await run({ prompt: "first words", persist: true }).outcome;
  const checkpoint = first.checkpoint;
  if (!checkpoint) throw new Error("no checkpoint");
  const second = await run({ prompt: "second words", persist: true, resume: { checkpoint, fork: false } })
    .outcome;
  expect(second).toMatchObject({ status: "finished", text: "Two.", checkpoint });
  // Its own, although the program counts on from the session.
  expect(second.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
  expect(JSON.stringify(api.requests[1]?.conversation.body.messages)).toContain("first words");
  const fork = await run({ prompt: "third words", persist: true, resume: { checkpoint, fork: true } })
    .outcome;
  expect(fork.status).toBe("finished");
  expect(fork.checkpoint?.session).not.toBe(checkpoint.session);
  const unknown = { ...checkpoint, session: "11111111-2222-4333-8444-555555555555" };
  expect(await run({ persist: true, resume: { checkpoint: unknown, fork: false } }).outcome).toMatchObject({
    status: "failed",
    error: { code: "resume_failed" },
  });
});

test("a run alone leaves no session behind", async () => {
  const { program, run } = await scene([{ content: [text("Hi.")] }]);
  expect(await run().outcome).not.toHaveProperty("checkpoint");
  const files = await readdir(join(program.workspace, "..", "config"), { recursive: true });
  expect(files.filter((file) => file.endsWith(".jsonl"))).toEqual([]);
});

test("a program that is killed", async () => {
  const { run } = await scene([{ content: [use("toolu_A", DELEGATE)] }]);
  const { server, mcp } = await serve({ delegate_to_agent: endless });
  const { outcome, raw } = run({ mcpServers: [mcp] });
  await server.received(1);
  process.kill(Number(/"pid":(\d+)/.exec(raw.stdout)?.[1]), "SIGKILL");
  expect(await outcome).toMatchObject({
    status: "failed",
    error: { code: "program_died", message: expect.stringContaining("signal SIGKILL") },
  });
});

test("failures have their codes", async () => {
  const refused = await scene(() => ({
    error: { status: 401, type: "authentication_error", message: "invalid x-api-key" },
  }));
  expect(await refused.run().outcome).toMatchObject({
    status: "failed",
    error: { code: "not_authenticated" },
  });
  const impatient = refused.run({ env: { CLAUDE_CODE_MAX_RETRIES: "10" } });
  expect(await impatient.outcome).toMatchObject({ status: "failed", error: { code: "not_authenticated" } });
  const keyless = refused.run({ env: { ANTHROPIC_API_KEY: "" } });
  expect(await keyless.outcome).toMatchObject({ error: { code: "not_authenticated" } });
  const broken = await scene(() => ({ error: { status: 500 } }));
  const failed = broken.run();
  expect(await failed.outcome).toMatchObject({
    status: "failed",
    error: { code: "model_error", retryable: true },
  });
  expect(failed.events).toContainEqual(expect.objectContaining({ type: "notice", code: "api_retry" }));
  const endlessTurns = await scene((conversation) => ({
    content: [use(`toolu_${conversation.replies}`, "Bash", { command: "echo hi" })],
  }));
  expect(await endlessTurns.run({ options: { maxTurns: 2, allowedTools: ["Bash"] } }).outcome).toMatchObject({
    status: "failed",
    error: { code: "limit_reached" },
  });
  const old = endlessTurns.run({ options: { extraArgs: ["--no-such-option"] } });
  expect(await old.outcome).toMatchObject({ status: "failed", error: { code: "program_too_old" } });
});
