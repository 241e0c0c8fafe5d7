import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../core/clock.js";
import type { McpServer } from "../../core/mcp-server.js";
import type { Script, ScriptStep } from "../../testing/claude/script.js";
import { scriptedClaude, scriptedClaudeEnvironment } from "../../testing/claude/start.js";
import { startToolServer, type ToolServer, type ToolServerTool } from "../../testing/claude/tool-server.js";
import { type DriverRun, type DriverRunOptions, startDriver } from "../../testing/driver-run.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { trackedGroups } from "../process/process-group.js";
import { claude } from "./claude.js";
import type { ClaudeOptions } from "./options.js";

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
  readonly script?: Script;
  readonly steps?: readonly ScriptStep[];
  readonly options?: ClaudeOptions;
  readonly legacy?: boolean;
}

function run({ script, steps, options, legacy, env, ...rest }: Setup = {}): DriverRun {
  const scripted = script ?? (steps && { turns: [steps] });
  const variables = scriptedClaudeEnvironment({
    trace,
    ...(scripted && { script: scripted }),
    ...(legacy && { legacy }),
  });
  return startDriver(claude({ executable: scriptedClaude(), ...options }), {
    workspace: directory,
    env: { PATH: process.env.PATH ?? "", ...variables, ...env },
    ...rest,
  });
}

async function serve(
  tools: Readonly<Record<string, ToolServerTool>>,
  trusted = true,
): Promise<{ server: ToolServer; mcp: McpServer }> {
  const server = await startToolServer({ tools, token: TOKEN });
  servers.push(server);
  return {
    server,
    mcp: {
      name: "a2a",
      transport: "http",
      url: server.url,
      headers: { Authorization: `Bearer ${TOKEN}` },
      trusted,
    },
  };
}

/** What the program received. */
function received(): Record<string, unknown>[] {
  return readFileSync(trace, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const answer = (summary: string): ToolServerTool => ({
  readOnly: true,
  call: () => ({ content: [{ type: "text", text: "long text" }], structuredContent: { summary } }),
});

/** A call that nothing answers, but that ends when its caller goes away. */
const endless: ToolServerTool = {
  readOnly: true,
  call: (_, context) =>
    new Promise((resolve) => {
      context.mcpReq.signal.addEventListener("abort", () => resolve({ content: [] }), { once: true });
    }),
};

describe.each([{ legacy: false }, { legacy: true }])("MCP legacy: $legacy", ({ legacy }) => {
  test("delegates, tells the call's id to the server, and repeats only what the model saw", async () => {
    const { server, mcp } = await serve({ delegate_to_agent: answer("All is well") });
    const { outcome, events, text } = run({ mcpServers: [mcp], legacy, prompt: "Look {{x}} up" });
    expect(await outcome).toMatchObject({
      status: "finished",
      text: "The research agent answered: All is well",
    });
    expect(text()).toBe("I'll ask the research agent.The research agent answered: All is well");
    const call = events.find((event) => event.type === "tool.start");
    expect(call).toMatchObject({
      name: "mcp__a2a__delegate_to_agent",
      server: "a2a",
      tool: "delegate_to_agent",
    });
    expect(server.calls).toMatchObject([
      {
        input: { agent: "research", objective: "Look {{x}} up" },
        meta: { "claudecode/toolUseId": call?.type === "tool.start" ? call.toolCallId : "" },
      },
    ]);
    expect(server.calls[0]?.meta).toHaveProperty("progressToken");
    expect(events).toContainEqual(
      expect.objectContaining({ type: "tool.result", content: '{"summary":"All is well"}', isError: false }),
    );
  });

  test("case 026: an interrupt reaches the open MCP call and ends the program before it is killed", async () => {
    const { server, mcp } = await serve({ delegate_to_agent: endless });
    const { outcome, cancel, seen } = run({ mcpServers: [mcp], legacy });
    await server.received(1);
    cancel();
    const { status, terminal } = await outcome;
    expect({ status, terminal }).toMatchObject({
      status: "cancelled",
      terminal: { terminal_reason: "aborted_tools" },
    });
    expect(await seen((event) => event.type === "tool.result")).toMatchObject({ isError: true });
    if (!legacy) expect(server.calls[0]?.aborted).toBe(true);
  });
});

test("the token is in the initialize request only", async () => {
  const { mcp } = await serve({ delegate_to_agent: answer("x") });
  const { outcome, raw, events } = run({ mcpServers: [mcp], env: { ANTHROPIC_API_KEY: "s3cret-api-key" } });
  await outcome;
  const [started, ...lines] = received();
  expect(JSON.stringify(started)).not.toContain(TOKEN);
  expect(lines.filter((line) => JSON.stringify(line).includes(TOKEN))).toEqual([
    { stdin: expect.objectContaining({ request: expect.objectContaining({ subtype: "initialize" }) }) },
  ]);
  expect(JSON.stringify([raw, events])).not.toContain(TOKEN);
});

test("calls of one message run side by side and end in any order", async () => {
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { server, mcp } = await serve({
    slow: {
      readOnly: true,
      call: () => released.then(() => ({ content: [{ type: "text", text: "slow done" }] })),
    },
    quick: { readOnly: true, call: () => ({ content: [{ type: "text", text: "quick done" }] }) },
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

test("an error result is an error for the model too", async () => {
  const error = JSON.stringify({ status: "failed", error: { message: "remote is down" } });
  const { mcp } = await serve({
    delegate_to_agent: { call: () => ({ isError: true, content: [{ type: "text", text: error }] }) },
  });
  expect(await run({ mcpServers: [mcp] }).outcome).toMatchObject({
    status: "finished",
    text: "The research agent could not finish: remote is down",
  });
});

test("case 013: a server that cannot be reached is a notice, and the run goes on without it", async () => {
  const { mcp } = await serve({});
  const { outcome, events } = run({
    mcpServers: [{ ...mcp, headers: { Authorization: "Bearer wrong" } } as McpServer],
  });
  expect(await outcome).toMatchObject({ status: "finished" });
  expect(events[0]).toMatchObject({ type: "notice", code: "mcp_server_failed" });
});

test("an untrusted server's tool is asked for; the arguments may be changed, a no reaches the model", async () => {
  const { server, mcp } = await serve({ delegate_to_agent: answer("x") }, false);
  const allowed = run({
    mcpServers: [mcp],
    approve: () => ({ decision: "approve", input: { agent: "other" } }),
  });
  await allowed.outcome;
  expect(allowed.questions[0]?.request).toMatchObject({
    kind: "permission",
    tool: "mcp__a2a__delegate_to_agent",
    input: { agent: "research" },
  });
  expect(server.calls.map((call) => call.input)).toEqual([{ agent: "other" }]);
  const denied = run({ mcpServers: [mcp], approve: () => ({ decision: "deny", message: "too costly" }) });
  expect(await denied.outcome).toMatchObject({ status: "finished" });
  expect(denied.events).toContainEqual(
    expect.objectContaining({ type: "tool.result", content: "too costly", isError: true }),
  );
  expect(server.calls).toHaveLength(1);
});

test("a cancel withdraws an open question", async () => {
  const { outcome, questions, cancel, seen } = run({
    steps: [{ permission: { tool: "Bash" } }],
    approve: () => new Promise(() => {}),
  });
  await seen((event) => event.type === "tool.end");
  while (questions.length === 0) await new Promise((resolve) => setImmediate(resolve));
  cancel();
  expect(await outcome).toMatchObject({ status: "cancelled" });
  expect(questions[0]?.withdrawn.aborted).toBe(true);
});

test("an MCP server's question is asked and its answer goes back", async () => {
  const { mcp } = await serve({
    ask: {
      call: (_, context) => {
        const given = context.mcpReq.inputResponses?.folder;
        if (given) return { content: [{ type: "text", text: JSON.stringify(given) }] };
        const requestedSchema = {
          type: "object" as const,
          properties: { folder: { type: "string" as const } },
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
    steps: [{ tools: [{ name: "ask" }] }, { say: "{{result.0}}" }],
    approve: () => ({ decision: "approve", input: { folder: "/srv" } }),
  });
  expect(await outcome).toMatchObject({ text: '{"action":"accept","content":{"folder":"/srv"}}' });
  expect(questions[0]?.request).toMatchObject({
    kind: "question",
    title: "Which folder?",
    schema: { properties: { folder: { type: "string" } } },
  });
});

test("thoughts, retries, subagents and garbage in one run", async () => {
  const { outcome, events, text, raw } = run({
    steps: [
      ...[{ think: "Hm" }, { retry: { status: 529 } }, { garbage: "node: warning" }, { garbage: "again" }],
      { native: { description: "look", says: "inner words", tool: { name: "Bash", result: "files" } } },
      { say: "Done" },
    ],
  });
  expect(await outcome).toMatchObject({ status: "finished", text: "Done" });
  expect(text()).toBe("Done");
  expect(events.flatMap((event) => (event.type === "notice" ? event.code : []))).toEqual([
    "api_retry",
    "unreadable_output",
  ]);
  expect(events).toContainEqual(
    expect.objectContaining({
      type: "text.delta",
      delta: "inner words",
      parentToolCallId: expect.any(String),
    }),
  );
  expect(raw.stdout).toContain("node: warning\n");
});

test("a thread keeps its session: a known id, resume, and no checkpoint for a run alone", async () => {
  const steps = [{ say: "Hi" }];
  const first = await run({ steps, persist: true }).outcome;
  expect(first.checkpoint).toMatchObject({
    driver: "claude",
    workspace: directory,
    session: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  const checkpoint = first.checkpoint ?? { driver: "", workspace: "", session: "" };
  expect(await run({ steps, persist: true, resume: { checkpoint, fork: false } }).outcome).toMatchObject({
    checkpoint,
  });
  const fork = await run({ steps, persist: true, resume: { checkpoint, fork: true } }).outcome;
  expect(fork.checkpoint?.session).not.toBe(checkpoint.session);
  expect(await run({ steps }).outcome).not.toHaveProperty("checkpoint");
});

describe("failures say what to do", () => {
  const failed = async (setup: Setup) => {
    const outcome = await run(setup).outcome;
    expect(outcome.status).toBe("failed");
    return outcome.error;
  };

  test("no program", async () => {
    const error = await failed({ options: { executable: "no-such-claude" } });
    expect(error).toMatchObject({ code: "program_missing" });
    expect(error?.message).toContain("npm install -g @anthropic-ai/claude-code");
  });

  test("a program that is too old", async () => {
    expect(await failed({ script: { turns: [], start: "unknown_option" } })).toMatchObject({
      code: "program_too_old",
    });
    const { mcp } = await serve({});
    expect(
      await failed({ script: { turns: [], start: "ignores_servers" }, mcpServers: [mcp] }),
    ).toMatchObject({ code: "program_too_old" });
  });

  test("case 104: a program that never answers its introduction", async () => {
    const clock = new ManualClock();
    const { outcome } = run({
      script: { turns: [], start: "silent" },
      options: { startTimeoutMs: 300 },
      clock,
    });
    while (clock.next !== 300) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(300);
    while (clock.pending > 0) await clock.advance(clock.next ?? 0);
    expect(await outcome).toMatchObject({
      status: "failed",
      error: { code: "protocol_error", message: "Claude Code did not answer within 0.3 s after its start." },
    });
  });

  test("no login, from the result or from the second refusal", async () => {
    const error = { status: 401, code: "authentication_failed", message: "Please run /login" };
    expect(await failed({ steps: [{ error }] })).toMatchObject({ code: "not_authenticated" });
    const retry = { times: 2, status: 401, error: "authentication_failed" };
    expect(await failed({ steps: [{ retry }, { hang: true }] })).toMatchObject({ code: "not_authenticated" });
  });

  test("one refusal may be repeated", async () => {
    const retry = { times: 1, status: 401, error: "authentication_failed" };
    expect(await run({ steps: [{ retry }, { say: "Hi" }] }).outcome).toMatchObject({ status: "finished" });
  });

  test("a failed request, the limit of turns", async () => {
    expect(await failed({ steps: [{ error: { status: 500, code: "server_error" } }] })).toMatchObject({
      code: "model_error",
      retryable: true,
    });
    expect(await failed({ steps: [{ maxTurns: 2 }] })).toMatchObject({ code: "limit_reached" });
  });

  test("a session that is gone, or was held elsewhere", async () => {
    const checkpoint = { driver: "claude", workspace: directory, session: "old" };
    const script = { turns: [], forgetful: true };
    expect(await failed({ script, persist: true, resume: { checkpoint, fork: false } })).toMatchObject({
      code: "resume_failed",
    });
    const elsewhere = { ...checkpoint, workspace: "/elsewhere" };
    expect(await failed({ persist: true, resume: { checkpoint: elsewhere, fork: false } })).toMatchObject({
      code: "resume_failed",
    });
    expect(
      await failed({
        persist: true,
        resume: { checkpoint: { ...checkpoint, driver: "codex" }, fork: false },
      }),
    ).toMatchObject({ code: "resume_failed" });
  });

  test("a program that dies, with its last words and without secrets", async () => {
    const steps = [{ say: "Half" }, { stderr: "fatal: s3cret-api-key" }, { die: "SIGKILL" as const }];
    const { outcome, events, raw } = run({ steps, env: { ANTHROPIC_API_KEY: "s3cret-api-key" } });
    expect((await outcome).error).toMatchObject({
      code: "program_died",
      message: "Claude Code ended without a result (signal SIGKILL). Its last words: fatal: [redacted]",
    });
    expect(events.at(-1)).toMatchObject({ type: "text.end" });
    expect(raw.stderr).toBe("fatal: [redacted]");
    expect(await failed({ steps: [{ exit: 3 }] })).toMatchObject({ code: "program_died" });
  });

  test("a workspace that is not there", async () => {
    expect(await failed({ workspace: "/no/such/directory" })).toMatchObject({ code: "invalid_input" });
  });
});

test("case 034: a program that hears neither interrupt nor the end of its input nor SIGTERM is killed, and the run is cancelled", async () => {
  const clock = new ManualClock();
  const script: Script = {
    turns: [[{ say: "Working" }, { hang: true }]],
    deaf: ["interrupt", "eof", "sigterm"],
  };
  const { outcome, cancel, seen } = run({ script, clock });
  await seen((event) => event.type === "text.end");
  cancel();
  const waits: (number | undefined)[] = [];
  for (let step = 0; step < 3; step++) {
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
    waits.push(clock.next);
    await clock.advance(clock.next ?? 0);
  }
  expect(waits).toEqual([1_000, 1_000, 2_000]);
  expect(await outcome).toEqual({ status: "cancelled" });
});

test("a cancel before the start starts nothing", async () => {
  const never = run();
  never.cancel();
  expect(await never.outcome).toEqual({ status: "cancelled" });
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
    ...scriptedClaudeEnvironment({ script: { turns: [[{ say: "Hi" }, { hang: true }]] } }),
  };
  const started = claude({ executable: scriptedClaude() }).start(
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

test("a prompt of 300 kB and every character arrives", async () => {
  const prompt = `${"ä€👩‍👩‍👧\u2028\n".repeat(20_000)}end`;
  expect(await run({ prompt, steps: [{ say: "x", chunks: ["{{prompt}}"] }] }).outcome).toMatchObject({
    text: prompt,
  });
});

test("scratch files do not stay behind", async () => {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = directory;
  try {
    await run({ steps: [{ say: "Hi" }] }).outcome;
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
  expect(received()[0]?.env).toContain("CLAUDE_CODE_TMPDIR");
  expect(await readdir(directory)).toEqual(["trace.jsonl"]);
});
