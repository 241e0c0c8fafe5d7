import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../core/clock.js";
import type { McpServer } from "../../core/mcp-server.js";
import { startToolServer, type ToolServer, type ToolServerTool } from "../../testing/claude/tool-server.js";
import type { CodexScript, CodexStep } from "../../testing/codex/script.js";
import { scriptedCodex, scriptedCodexEnvironment } from "../../testing/codex/start.js";
import { type DriverRun, type DriverRunOptions, startDriver } from "../../testing/driver-run.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { trackedGroups } from "../process/process-group.js";
import { codex } from "./codex.js";
import type { CodexOptions } from "./options.js";

const TOKEN = "t0ken-that-nobody-may-see";
let directory: string;
let trace: string;
const servers: ToolServer[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "troupe-test-"));
  trace = join(directory, "trace.jsonl");
});

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
  await rm(directory, { recursive: true, force: true });
  expect(trackedGroups()).toEqual([]);
});

interface Setup extends DriverRunOptions {
  readonly script?: CodexScript;
  readonly steps?: readonly CodexStep[];
  readonly options?: CodexOptions;
}

function run({ script, steps, options, env, ...rest }: Setup = {}): DriverRun {
  const scripted = script ?? (steps && { turns: [steps] });
  const variables = scriptedCodexEnvironment({ trace, ...(scripted && { script: scripted }) });
  return startDriver(codex({ executable: scriptedCodex(), ...options }), {
    workspace: directory,
    env: { PATH: process.env.PATH ?? "", ...variables, ...env },
    ...rest,
  });
}

async function serve(
  tools: Readonly<Record<string, ToolServerTool>>,
  changes: Partial<McpServer> = {},
): Promise<{ server: ToolServer; mcp: McpServer }> {
  const server = await startToolServer({ tools, token: TOKEN });
  servers.push(server);
  const mcp = {
    name: "a2a-subagents",
    transport: "http",
    url: server.url,
    headers: { Authorization: `Bearer ${TOKEN}` },
    trusted: true,
    parallel: true,
    ...changes,
  } as McpServer;
  return { server, mcp };
}

/** What the program received. */
function received(): Record<string, unknown>[] {
  return readFileSync(trace, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The parameters of the first request of this method. */
function sent(method: string): Record<string, unknown> | undefined {
  const messages = received().map(({ stdin }) => stdin as Record<string, unknown> | undefined);
  return messages.find((message) => message?.method === method)?.params as Record<string, unknown>;
}

const codesOf = ({ events }: DriverRun) =>
  events.flatMap((event) => (event.type === "notice" ? event.code : []));

const answer = (summary: string): ToolServerTool => ({
  call: () => ({ content: [{ type: "text", text: "long text" }], structuredContent: { summary } }),
});

/** A call that nothing answers, but that ends when its caller goes away. */
const endless: ToolServerTool = {
  call: (_, context) =>
    new Promise((resolve) => {
      context.mcpReq.signal.addEventListener("abort", () => resolve({ content: [] }), { once: true });
    }),
};

/** Resolves when the event loop has gone round until `holds`. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

test("case 110: delegates, tells the call's id to the server, and repeats only what the model saw", async () => {
  const { server, mcp } = await serve({ delegate_to_agent: answer("All is well") });
  const { outcome, events, text } = run({ mcpServers: [mcp], prompt: "Look {{x}} up" });
  expect(await outcome).toMatchObject({
    status: "finished",
    text: "The research agent answered: All is well",
  });
  expect(text()).toBe("I'll ask the research agent.The research agent answered: All is well");
  const call = events.find((event) => event.type === "tool.start");
  expect(call).toMatchObject({
    name: "mcp__a2a_subagents__delegate_to_agent",
    server: "a2a-subagents",
    tool: "delegate_to_agent",
  });
  expect(server.calls).toMatchObject([
    {
      input: { agent: "research", objective: "Look {{x}} up" },
      meta: { callId: call?.type === "tool.start" ? call.toolCallId : "" },
    },
  ]);
  expect(events).toContainEqual(
    expect.objectContaining({ type: "tool.result", content: '{"summary":"All is well"}', isError: false }),
  );
  expect(events).toContainEqual({
    type: "usage",
    usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 2 },
  });
});

test("case 026: an interrupt reaches the open MCP call; the call is left for the run to close", async () => {
  const { server, mcp } = await serve({ delegate_to_agent: endless });
  const { outcome, events, cancel } = run({ mcpServers: [mcp] });
  await server.received(1);
  cancel();
  expect(await outcome).toMatchObject({ status: "cancelled", terminal: { status: "interrupted" } });
  expect(events.map(({ type }) => type)).not.toContain("tool.result");
  // The program speaks the era in which a cancel is a message of its own.
  await expect.poll(() => server.calls[0]?.aborted).toBe(true);
});

test("the token is in the request that opens the thread only", async () => {
  const { mcp } = await serve({ delegate_to_agent: answer("x") });
  const { outcome, raw, events } = run({ mcpServers: [mcp], env: { OPENAI_API_KEY: "s3cret-api-key" } });
  await outcome;
  const [started, ...lines] = received();
  expect(JSON.stringify(started)).not.toContain(TOKEN);
  expect(lines.filter((line) => JSON.stringify(line).includes(TOKEN))).toEqual([
    { stdin: expect.objectContaining({ method: "thread/start" }) },
  ]);
  expect(JSON.stringify([raw, events])).not.toContain(TOKEN);
  expect(await readdir(directory)).toEqual(["trace.jsonl"]);
});

test("calls of one message run side by side and end in any order", async () => {
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { server, mcp } = await serve({
    slow: { call: () => released.then(() => ({ content: [{ type: "text", text: "slow done" }] })) },
    quick: { call: () => ({ content: [{ type: "text", text: "quick done" }] }) },
  });
  const tools = [
    { name: "slow", id: "t-slow" },
    { name: "quick", id: "t-quick" },
  ];
  const { outcome, events, seen } = run({
    mcpServers: [mcp],
    steps: [{ tools }, { say: "{{result.0}}, {{result.1}}" }],
  });
  await seen((event) => event.type === "tool.result" && event.toolCallId === "t-quick");
  expect(server.calls).toHaveLength(2);
  release();
  expect(await outcome).toMatchObject({ text: "slow done, quick done" });
  expect(events.flatMap((event) => (event.type === "tool.result" ? event.toolCallId : []))).toEqual([
    "t-quick",
    "t-slow",
  ]);
});

test("an error result is an error for the model too, and keeps its structure", async () => {
  const error = { status: "failed", error: { message: "remote is down" } };
  const { mcp } = await serve({
    delegate_to_agent: {
      call: () => ({
        isError: true,
        content: [{ type: "text", text: JSON.stringify(error) }],
        structuredContent: error,
      }),
    },
  });
  const { outcome, events } = run({ mcpServers: [mcp] });
  expect(await outcome).toMatchObject({
    status: "finished",
    text: "The research agent could not finish: remote is down",
  });
  expect(events).toContainEqual(
    expect.objectContaining({ type: "tool.result", content: JSON.stringify(error), isError: true }),
  );
});

describe("code mode: the turn ends before the call does", () => {
  test("the run waits for the result, and ends then", async () => {
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { mcp } = await serve({
      slow: { call: () => released.then(() => ({ content: [{ type: "text", text: "late" }] })) },
    });
    const { outcome, seen, events } = run({
      mcpServers: [mcp],
      steps: [{ tools: [{ name: "slow", id: "t-slow" }], late: true }, { say: "It goes on." }],
    });
    await seen((event) => event.type === "text.end");
    release();
    expect(await outcome).toMatchObject({ status: "finished", text: "It goes on." });
    expect(events.at(-1)).toMatchObject({ type: "tool.result", toolCallId: "t-slow", content: "late" });
  });

  test("but not longer than the server's own limit", async () => {
    const clock = new ManualClock();
    const { server, mcp } = await serve({ slow: endless }, { timeoutMs: 400_000 });
    const { outcome } = run({
      clock,
      mcpServers: [mcp],
      steps: [{ tools: [{ name: "slow" }], late: true }, { say: "It goes on." }],
    });
    await server.received(1);
    await until(() => clock.next === 405_000);
    await clock.advance(405_000);
    while (clock.pending > 0) await clock.advance(clock.next ?? 0);
    expect(await outcome).toMatchObject({ status: "finished", text: "It goes on." });
  });

  test("a cancel does not wait", async () => {
    const { server, mcp } = await serve({ slow: endless });
    const { outcome, seen, cancel } = run({
      mcpServers: [mcp],
      steps: [{ tools: [{ name: "slow" }], late: true }, { say: "It goes on." }],
    });
    await server.received(1);
    await seen((event) => event.type === "text.end");
    cancel();
    expect((await outcome).status).toBe("cancelled");
  });
});

describe("MCP servers that cannot be used", () => {
  const refused = { headers: { Authorization: "Bearer wrong" } };

  test("one that the run needs ends it with a typed error", async () => {
    const { mcp } = await serve({}, refused);
    const { error } = await run({ mcpServers: [mcp] }).outcome;
    expect(error).toMatchObject({ code: "protocol_error", retryable: true });
    expect(error?.message).toContain("Codex could not use an MCP server that the run needs: a2a-subagents:");
  });

  test("case 013: another one is a notice, and the run goes on without it", async () => {
    const { mcp } = await serve({}, { ...refused, trusted: false });
    const started = run({ mcpServers: [mcp], steps: [{ say: "Hi" }] });
    expect(await started.outcome).toMatchObject({ status: "finished" });
    expect(codesOf(started)).toContain("mcp_server_failed");
  });
});

describe("approvals", () => {
  const ask: readonly CodexStep[] = [
    { shell: { command: "touch a", id: "call_a", output: "made", ask: true } },
    { say: "{{result.0}}" },
  ];

  test("a command is asked for, with the call that waits; yes runs it, no tells the model", async () => {
    const yes = run({ steps: ask });
    expect(await yes.outcome).toMatchObject({ text: "made" });
    expect(yes.questions[0]?.request).toMatchObject({
      kind: "permission",
      tool: "shell",
      toolCallId: "call_a",
      title: "Run touch a: need it",
      input: { command: "touch a" },
    });
    const no = run({ steps: ask, approve: () => ({ decision: "deny" }) });
    expect(await no.outcome).toMatchObject({ text: "rejected by user" });
    expect(no.events).toContainEqual(
      expect.objectContaining({ type: "tool.result", content: "The command was declined.", isError: true }),
    );
  });

  test("a changed command is declined instead of running the old one", async () => {
    const changed = run({
      steps: ask,
      approve: () => ({ decision: "approve", input: { command: "touch b" } }),
    });
    expect(await changed.outcome).toMatchObject({ text: "rejected by user" });
    expect(codesOf(changed)).toContain("approval_declined");
    const same = run({
      steps: ask,
      approve: ({ request }) => ({ decision: "approve", input: structuredClone(request.input) }),
    });
    expect(await same.outcome).toMatchObject({ text: "made" });
  });

  test("a file change shows its diff", async () => {
    const steps = [{ patch: { path: "/w/b.txt", diff: "+hello", id: "call_p", ask: true } }];
    const { outcome, questions, events } = run({ steps });
    await outcome;
    expect(questions[0]?.request).toMatchObject({
      tool: "apply_patch",
      toolCallId: "call_p",
      title: "Change /w/b.txt",
      input: { changes: [{ diff: "+hello" }] },
    });
    expect(events).toContainEqual({
      type: "tool.result",
      toolCallId: "call_p",
      content: "add /w/b.txt",
      isError: false,
    });
  });

  test("an untrusted server's tool is asked for, and its call is found by its arguments", async () => {
    const { server, mcp } = await serve({ look: answer("x") }, { trusted: false });
    const steps = [{ tools: [{ name: "look", id: "call_m", input: { at: 1 } }] }, { say: "{{result.0}}" }];
    const { outcome, questions } = run({ mcpServers: [mcp], steps });
    expect(await outcome).toMatchObject({ text: '{"summary":"x"}' });
    expect(questions[0]?.request).toMatchObject({
      kind: "permission",
      tool: "mcp__a2a_subagents__look",
      toolCallId: "call_m",
      input: { at: 1 },
    });
    const denied = run({ mcpServers: [mcp], steps, approve: () => ({ decision: "deny" }) });
    expect(await denied.outcome).toMatchObject({ text: "user rejected MCP tool call" });
    expect(server.calls).toHaveLength(1);
  });

  test("an MCP server's question is asked and its answer goes back", async () => {
    const schema = { type: "object", properties: { folder: { type: "string" } } };
    const params = { serverName: "files", mode: "form", message: "Which folder?", requestedSchema: schema };
    const request = { method: "mcpServer/elicitation/request", params };
    const { outcome, questions } = run({
      steps: [{ request }, { say: "{{result.0}}" }],
      approve: () => ({ decision: "approve", input: { folder: "/srv" } }),
    });
    expect(await outcome).toMatchObject({
      text: '{"action":"accept","content":{"folder":"/srv"},"_meta":null}',
    });
    expect(questions[0]?.request).toMatchObject({ kind: "question", title: "Which folder?", schema });
  });

  test("a request that nobody can decide is refused, not left open", async () => {
    const request = { method: "attestation/generate", params: {} };
    const { outcome, questions } = run({ steps: [{ request }, { say: "{{result.0}}" }] });
    const { text } = await outcome;
    expect(text).toContain("Unsupported request: attestation/generate");
    expect(questions).toEqual([]);
  });

  test("a cancel withdraws an open question, and so does the program", async () => {
    const hanging = run({ steps: ask, approve: () => new Promise(() => {}) });
    await until(() => hanging.questions.length > 0);
    hanging.cancel();
    expect(await hanging.outcome).toMatchObject({ status: "cancelled" });
    expect(hanging.questions[0]?.withdrawn.aborted).toBe(true);

    const params = { itemId: "call_x", command: "ls" };
    const withdraw = { method: "item/commandExecution/requestApproval", params };
    const taken = run({ steps: [{ withdraw }, { hang: true }], approve: () => new Promise(() => {}) });
    await until(() => taken.questions[0]?.withdrawn.aborted === true);
    taken.cancel();
    await taken.outcome;
  });
});

test("thoughts, plan, search, shell, retries and garbage in one run", async () => {
  const started = run({
    steps: [
      ...[{ think: "Hm" }, { retry: { status: 500 } }, { garbage: "node: warning" }, { garbage: "again" }],
      { plan: [{ step: "one", status: "inProgress" }] },
      { search: "HTTP/3" },
      { shell: { command: "ls", output: "files\n", exitCode: 2 } },
      { say: "Done" },
    ],
  });
  expect(await started.outcome).toMatchObject({ status: "finished", text: "Done" });
  expect(codesOf(started)).toEqual(["codex_warning", "api_retry", "unreadable_output"]);
  for (const event of [
    { type: "reasoning.delta", delta: "Hm" },
    { type: "plan.updated", steps: [{ text: "one", status: "in_progress" }] },
    { type: "tool.start", name: "web_search" },
    { type: "tool.result", content: "files\nExit code: 2", isError: true },
  ])
    expect(started.events).toContainEqual(expect.objectContaining(event));
  expect(started.raw.stdout).toContain("node: warning\n");
});

test("a shell that the model left behind is ended with the run, and its output is kept", async () => {
  const steps = [
    { shell: { command: "serve", id: "call_s", output: "listening", background: true } },
    { say: "Up" },
  ];
  const { outcome, events } = run({ steps });
  expect(await outcome).toMatchObject({ status: "finished", text: "Up" });
  const result = { type: "tool.result", toolCallId: "call_s", content: "listening\nExit code: -1" };
  expect(events.at(-1)).toMatchObject(result);
  const interrupted = run({ steps: [...steps, { hang: true }] });
  await interrupted.seen((event) => event.type === "text.end");
  interrupted.cancel();
  expect((await interrupted.outcome).status).toBe("cancelled");
  expect(interrupted.events.at(-1)).toMatchObject(result);
});

test("what belongs to other threads and turns is not shown", async () => {
  const item = { type: "agentMessage", id: "m-other", text: "Not for you" };
  const notify = (ids: object) => ({
    notify: { method: "item/completed", params: { item: { ...item }, ...ids } },
  });
  const { outcome, text } = run({
    steps: [
      notify({ threadId: "another", turnId: "{{turn}}" }),
      notify({ threadId: "{{thread}}", turnId: "another" }),
      { say: "Mine" },
    ],
  });
  await outcome;
  expect(text()).toBe("Mine");
});

test("a thread keeps its session: resume, fork, and no checkpoint for a run alone", async () => {
  const steps = [{ say: "Hi" }];
  const first = await run({ steps, persist: true }).outcome;
  expect(first.checkpoint).toMatchObject({
    driver: "codex",
    workspace: directory,
    session: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(sent("thread/start")).toMatchObject({ ephemeral: false });
  const checkpoint = first.checkpoint ?? { driver: "", workspace: "", session: "" };
  expect(await run({ steps, persist: true, resume: { checkpoint, fork: false } }).outcome).toMatchObject({
    checkpoint,
  });
  expect(sent("thread/resume")).toMatchObject({ threadId: checkpoint.session, sandbox: "read-only" });
  const fork = await run({ steps, persist: true, resume: { checkpoint, fork: true } }).outcome;
  expect(fork.checkpoint?.session).not.toBe(checkpoint.session);
  expect(await run({ steps }).outcome).not.toHaveProperty("checkpoint");
  const failed = await run({ steps: [{ error: { message: "no" } }], persist: true }).outcome;
  expect(failed).not.toHaveProperty("checkpoint");
});

describe("failures say what to do", () => {
  const failed = async (setup: Setup) => {
    const outcome = await run(setup).outcome;
    expect(outcome.status).toBe("failed");
    return outcome.error;
  };

  test("no program", async () => {
    const error = await failed({ options: { executable: "no-such-codex" } });
    expect(error).toMatchObject({ code: "program_missing" });
    expect(error?.message).toContain("npm install -g @openai/codex");
  });

  test("a program that is too old", async () => {
    expect(await failed({ script: { turns: [], start: "unknown_command" } })).toMatchObject({
      code: "program_too_old",
    });
    const error = await failed({ script: { turns: [], version: "0.99.9" } });
    expect(error).toMatchObject({ code: "program_too_old" });
    expect(error?.message).toContain("it is 0.99.9");
    expect(await failed({ script: { turns: [], version: "dev" } })).toMatchObject({
      code: "program_too_old",
    });
  });

  test("case 104: a program that never answers its introduction", async () => {
    const clock = new ManualClock();
    const { outcome } = run({
      script: { turns: [], start: "silent" },
      options: { startTimeoutMs: 300 },
      clock,
    });
    await until(() => clock.next === 300);
    await clock.advance(300);
    while (clock.pending > 0) await clock.advance(clock.next ?? 0);
    expect(await outcome).toMatchObject({
      status: "failed",
      error: { code: "protocol_error", message: "Codex did not answer initialize within 0.3 s." },
    });
  });

  test("no login: known before the first request, from the failed turn, or from the second refusal", async () => {
    const error = await failed({ script: { turns: [], start: "logged_out" } });
    expect(error).toMatchObject({ code: "not_authenticated" });
    expect(error?.message).toContain(' login" once in a terminal');
    expect(sent("thread/start")).toBeUndefined();
    const info = { httpConnectionFailed: { httpStatusCode: 401 } };
    expect(await failed({ steps: [{ error: { message: "unexpected status 401", info } }] })).toMatchObject({
      code: "not_authenticated",
    });
    const retry = { times: 2, status: 401 };
    expect(await failed({ steps: [{ retry }, { hang: true }] })).toMatchObject({ code: "not_authenticated" });
    const once = { times: 1, status: 401 };
    expect(await run({ steps: [{ retry: once }, { say: "Hi" }] }).outcome).toMatchObject({
      status: "finished",
    });
  });

  test("a failed request to the model", async () => {
    const error = { message: "high demand", info: "internalServerError" };
    expect(await failed({ steps: [{ say: "Half" }, { error }] })).toMatchObject({
      code: "model_error",
      message: "high demand",
      retryable: true,
    });
  });

  test("a thread that is gone, or was held elsewhere", async () => {
    const checkpoint = { driver: "codex", workspace: directory, session: "old" };
    const script = { turns: [], forgetful: true };
    expect(await failed({ script, persist: true, resume: { checkpoint, fork: false } })).toMatchObject({
      code: "resume_failed",
    });
    for (const changes of [{ workspace: "/elsewhere" }, { driver: "claude" }]) {
      const resume = { checkpoint: { ...checkpoint, ...changes }, fork: false };
      expect(await failed({ persist: true, resume })).toMatchObject({ code: "resume_failed" });
    }
  });

  test("a program that dies, with its last words and without secrets", async () => {
    const steps = [{ say: "Half" }, { stderr: "fatal: s3cret-api-key" }, { die: "SIGKILL" as const }];
    const { outcome, events, raw } = run({ steps, env: { OPENAI_API_KEY: "s3cret-api-key" } });
    expect((await outcome).error).toMatchObject({
      code: "program_died",
      message: "Codex ended without a result (signal SIGKILL). Its last words: fatal: [redacted]",
    });
    expect(events).toContainEqual(expect.objectContaining({ type: "text.end" }));
    expect(raw.stderr).toBe("fatal: [redacted]");
    expect(await failed({ steps: [{ exit: 3 }] })).toMatchObject({ code: "program_died" });
  });

  test("a workspace that is not there", async () => {
    expect(await failed({ workspace: "/no/such/directory" })).toMatchObject({ code: "invalid_input" });
  });
});

test("case 034: a program that hears neither interrupt nor the end of its input nor SIGTERM is killed, and the run is cancelled", async () => {
  const clock = new ManualClock();
  const script: CodexScript = {
    turns: [[{ say: "Working" }, { hang: true }]],
    deaf: ["interrupt", "eof", "sigterm"],
  };
  const { outcome, cancel, seen } = run({ script, clock });
  await seen((event) => event.type === "text.end");
  await until(() => clock.pending === 0);
  cancel();
  const waits: (number | undefined)[] = [];
  for (let step = 0; step < 3; step++) {
    await until(() => clock.pending > 0);
    waits.push(clock.next);
    await clock.advance(clock.next ?? 0);
  }
  expect(waits).toEqual([1_000, 1_000, 2_000]);
  expect(await outcome).toEqual({ status: "cancelled" });
});

test("an interrupt waits for the start of the turn: before, the program refuses it and goes on", async () => {
  const { outcome, cancel } = run({ script: { turns: [[{ hang: true }]], slowTurnMs: 200 } });
  await expect.poll(() => existsSync(trace) && sent("turn/start") !== undefined).toBe(true);
  cancel();
  expect(await outcome).toMatchObject({ status: "cancelled", terminal: { status: "interrupted" } });
});

test("a cancel before the start starts nothing", async () => {
  const request = {
    ...{ runId: "r", prompt: "p", workspace: directory, mcpServers: [], persist: false, clock: systemClock },
    env: { PATH: process.env.PATH ?? "", TROUPE_TRACE: trace },
    signal: AbortSignal.abort("user"),
  };
  const sink = { emit: () => {}, approve: async () => ({ decision: "deny" as const }), raw: () => {} };
  const driver = codex({ executable: scriptedCodex() });
  expect(await driver.start(request, sink)).toEqual({ status: "cancelled" });
  expect(existsSync(trace)).toBe(false);
});

test("case 011: a cancel at any moment leaves nothing behind", async () => {
  const { mcp } = await serve({ delegate_to_agent: answer("x") });
  // It hangs at the end, so that no moment is too late to cancel.
  const steps = [
    { say: "I ask." },
    { tools: [{ name: "delegate_to_agent", input: { agent: "research" } }] },
    { say: "This is what it said." },
    { hang: true as const },
  ];
  for (let moment = 1; moment <= 12; moment++) {
    const { outcome, events, cancel, seen } = run({ mcpServers: [mcp], steps });
    await seen(() => events.length >= moment);
    cancel();
    expect((await outcome).status).toBe("cancelled");
    expect(trackedGroups()).toEqual([]);
  }
});

test("an error of whoever takes the events is thrown, after the program has ended", async () => {
  const env = {
    PATH: process.env.PATH ?? "",
    ...scriptedCodexEnvironment({ script: { turns: [[{ say: "Hi" }, { hang: true }]] } }),
  };
  const started = codex({ executable: scriptedCodex() }).start(
    {
      runId: "r",
      prompt: "p",
      workspace: directory,
      env,
      mcpServers: [],
      persist: false,
      clock: systemClock,
      signal: new AbortController().signal,
    },
    {
      emit: () => {
        throw new Error("boom");
      },
      approve: async () => ({ decision: "deny" }),
      raw: () => {},
    },
  );
  await expect(started).rejects.toThrow("boom");
});

test("a prompt of 1 MB and every character arrives", async () => {
  const prompt = `${"ä€👩‍👩‍👧\u2028\n".repeat(50_000)}end`;
  expect(Buffer.byteLength(prompt)).toBeGreaterThan(1_000_000);
  expect(await run({ prompt, steps: [{ say: "x", chunks: ["{{prompt}}"] }] }).outcome).toMatchObject({
    text: prompt,
  });
});

test("one server over stdio, started by the program with its own variables", async () => {
  const script = `
    import { McpServer } from "@modelcontextprotocol/server";
    import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
    const server = new McpServer({ name: "s", version: "1" });
    server.registerTool("hello", { description: "hello" }, () => ({ content: [{ type: "text", text: process.env.GREETING }] }));
    await server.connect(new StdioServerTransport());
  `;
  const mcp: McpServer = {
    name: "local",
    transport: "stdio",
    command: process.execPath,
    args: ["--input-type=module", "--eval", script],
    env: { GREETING: "Hello from stdio" },
    trusted: true,
  };
  const { outcome } = run({
    workspace: process.cwd(),
    mcpServers: [mcp],
    steps: [{ tools: [{ name: "hello" }] }, { say: "{{result.0}}" }],
  });
  expect(await outcome).toMatchObject({ status: "finished", text: "Hello from stdio" });
});
