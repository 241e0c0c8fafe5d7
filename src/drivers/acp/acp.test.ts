import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { McpServer } from "../../core/mcp-server.js";
import type { AcpScript, AcpStep } from "../../testing/acp/script.js";
import { scriptedAcp, scriptedAcpEnvironment } from "../../testing/acp/start.js";
import { startToolServer, type ToolServer } from "../../testing/claude/tool-server.js";
import { type DriverRun, type DriverRunOptions, startDriver } from "../../testing/driver-run.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { trackedGroups } from "../process/process-group.js";
import { acp } from "./acp.js";
import type { AcpOptions } from "./options.js";
import { codexAcp, cursorAcp, gemini, openCode } from "./presets.js";

const [command, ...args] = scriptedAcp();
const EXECUTABLE = scriptedAcp();
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
  readonly script?: Partial<AcpScript>;
  readonly steps?: readonly AcpStep[];
  readonly options?: Partial<AcpOptions>;
}

function run({ script, steps = [{ say: "Hi" }], options, env, ...rest }: Setup = {}): DriverRun {
  const variables = scriptedAcpEnvironment({ trace, script: { turns: [steps], ...script } });
  return startDriver(acp({ command, args, ...options }), {
    workspace: directory,
    env: { PATH: process.env.PATH ?? "", ...variables, ...env },
    ...rest,
  });
}

async function serve(): Promise<McpServer> {
  const server = await startToolServer({ tools: { look: { call: () => ({ content: [] }) } } });
  servers.push(server);
  return { name: "tools", transport: "http", url: server.url, trusted: true };
}

/** What the program received. */
function received(): Record<string, unknown>[] {
  const lines = readFileSync(trace, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The parameters of the first message of this method. */
function sent(method: string): Record<string, unknown> | undefined {
  const messages = received().map(({ stdin }) => stdin as Record<string, unknown> | undefined);
  return messages.find((message) => message?.method === method)?.params as Record<string, unknown>;
}

const codesOf = ({ events }: DriverRun) =>
  events.flatMap((event) => (event.type === "notice" ? event.code : []));

test("text, thoughts, a plan, a command, an edit and what was used", async () => {
  const { outcome, events, text } = run({
    steps: [
      { think: "Hm" },
      { say: "One", messageId: "m1" },
      { say: "Two", messageId: "m2" },
      { plan: [{ content: "Look", status: "in_progress" }] },
      { shell: { command: "ls", id: "c1", output: "a.txt" } },
      { shell: { command: "false", id: "c2", output: "no", exitCode: 1 } },
      { edit: { path: "/w/a.txt", oldText: "old", newText: "new", id: "c3" } },
      { update: { sessionUpdate: "usage_update", used: 1, size: 2, cost: { amount: 0.5, currency: "USD" } } },
      { update: { sessionUpdate: "something_new", content: 1 } },
      { say: "Done" },
    ],
  });
  expect(await outcome).toMatchObject({ status: "finished", terminal: { stopReason: "end_turn" } });
  expect(text()).toBe("OneTwoDone");
  const starts = events.filter((event) => event.type === "text.start");
  expect(starts).toHaveLength(3);
  const kinds = ["reasoning.start", "plan.updated", "tool.start"] as const;
  for (const kind of kinds) expect(events.map(({ type }) => type)).toContain(kind);
  expect(events).toContainEqual({ type: "plan.updated", steps: [{ text: "Look", status: "in_progress" }] });
  expect(events).toContainEqual({ type: "tool.args", toolCallId: "c1", delta: '{"command":"ls"}' });
  expect(events).toContainEqual({ type: "tool.result", toolCallId: "c1", content: "a.txt", isError: false });
  expect(events).toContainEqual({ type: "tool.result", toolCallId: "c2", content: "no", isError: true });
  const change = { path: "/w/a.txt", newText: "new", oldText: "old" };
  const delta = JSON.stringify({ title: "Edit /w/a.txt", changes: [change] });
  expect(events).toContainEqual({ type: "tool.args", toolCallId: "c3", delta });
  expect(events.findLast((event) => event.type === "usage")).toEqual({
    type: "usage",
    usage: { cost: 0.5, inputTokens: 10, outputTokens: 5, cachedInputTokens: 2 },
  });
});

test("offers neither files nor terminals, and refuses what it does not know", async () => {
  const request = { method: "fs/read_text_file", params: { path: "/etc/passwd" } };
  const { outcome, text } = run({ steps: [{ request }, { say: "{{result.0}}" }] });
  expect((await outcome).status).toBe("finished");
  expect(text()).toContain("Unsupported request: fs/read_text_file");
  expect(sent("initialize")).toMatchObject({
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  });
});

describe("modes and models", () => {
  const offered = { modes: ["default", "plan"], models: ["small", "large"] };

  test("are chosen where they are offered, in the older and the newer way", async () => {
    const options = { mode: "plan", model: "large" };
    expect((await run({ script: offered, options }).outcome).status).toBe("finished");
    expect(sent("session/set_mode")).toMatchObject({ modeId: "plan" });
    expect(sent("session/set_model")).toMatchObject({ modelId: "large" });
    await rm(trace);
    expect((await run({ script: { ...offered, options: true }, options }).outcome).status).toBe("finished");
    expect(sent("session/set_config_option")).toMatchObject({ configId: "mode-option", value: "plan" });
  });

  test("that are not offered fail the run before the prompt, and say what there is", async () => {
    const { error } = await run({ script: offered, options: { mode: "yolo" } }).outcome;
    expect(error).toMatchObject({
      code: "capability_unsupported",
      message: 'The agent has no mode "yolo": it offers default, plan.',
    });
    expect(sent("session/prompt")).toBeUndefined();
  });
});

describe("old sessions", () => {
  const resume = {
    checkpoint: { driver: "acp", workspace: "", session: "old-session" },
    fork: false,
  };
  const going = (script: Partial<AcpScript>) =>
    run({
      script,
      persist: true,
      resume: { ...resume, checkpoint: { ...resume.checkpoint, workspace: directory } },
    });

  test("what a loaded session repeats is not this run's", async () => {
    const loaded = going({ sessions: "load" });
    expect(await loaded.outcome).toMatchObject({ checkpoint: { session: "old-session" } });
    expect(loaded.text()).toBe("Hi");
    expect(sent("session/load")).toMatchObject({ sessionId: "old-session", cwd: directory });
    await rm(trace);
    expect((await going({ sessions: "resume" }).outcome).status).toBe("finished");
    expect(sent("session/resume")).toMatchObject({ sessionId: "old-session" });
  });

  test("an agent without them refuses before the prompt, and makes no checkpoint", async () => {
    const { error } = await going({ sessions: "none" }).outcome;
    expect(error).toMatchObject({ code: "capability_unsupported" });
    expect(sent("session/prompt")).toBeUndefined();
    const kept = run({ script: { sessions: "none" }, persist: true });
    expect(await kept.outcome).not.toHaveProperty("checkpoint");
    expect(codesOf(kept)).toEqual(["thread_not_kept"]);
  });

  test("belong to one driver and one workspace", async () => {
    for (const checkpoint of [
      { ...resume.checkpoint, driver: "codex" },
      { ...resume.checkpoint, workspace: "/elsewhere" },
    ])
      expect((await run({ resume: { checkpoint, fork: false } }).outcome).error).toMatchObject({
        code: "resume_failed",
      });
  });
});

describe("permissions", () => {
  const ask: readonly AcpStep[] = [
    { shell: { command: "ls", id: "c1", output: "ran", ask: true } },
    { say: "{{result.0}}" },
  ];
  const chosen = () => received().flatMap(({ permission }) => (permission === undefined ? [] : [permission]));

  test("yes is this once, and another option of the same kind may be chosen by its id", async () => {
    await run({ steps: ask }).outcome;
    await run({ steps: ask, approve: () => ({ decision: "approve", input: { optionId: "always" } }) })
      .outcome;
    await run({ steps: ask, approve: () => ({ decision: "deny" }) }).outcome;
    expect(chosen()).toEqual(["once", "always", "no"]);
  });

  test("a changed call is declined instead of running the old one; so is an option that says the opposite", async () => {
    const changed = run({ steps: ask, approve: () => ({ decision: "approve", input: { command: "rm" } }) });
    await changed.outcome;
    expect(changed.text()).toBe("rejected by user");
    const opposite = run({ steps: ask, approve: () => ({ decision: "approve", input: { optionId: "no" } }) });
    await opposite.outcome;
    expect([...codesOf(changed), ...codesOf(opposite)]).toEqual(["approval_declined", "approval_declined"]);
  });

  test("leaving a planning mode is the approval of a plan", async () => {
    const toolCall = { toolCallId: "p", title: "Ready to code?", kind: "switch_mode" };
    const options = [{ optionId: "go", name: "Go", kind: "allow_once" }];
    const request = { method: "session/request_permission", params: { toolCall, options } };
    const { outcome, questions, text } = run({
      steps: [{ request }, { say: "{{result.0.outcome.optionId}}" }],
    });
    await outcome;
    expect(questions[0]?.request).toMatchObject({ kind: "plan", title: "Ready to code?" });
    expect(text()).toBe("go");
  });

  test("without a way to say yes only once, it is a no", async () => {
    const options = [
      { optionId: "ever", name: "Always", kind: "allow_always" },
      { optionId: "no", name: "No", kind: "reject_once" },
    ];
    const params = { toolCall: { toolCallId: "p", title: "x" }, options };
    const request = { method: "session/request_permission", params };
    const asked = run({ steps: [{ request }, { say: "{{result.0.outcome.optionId}}" }] });
    await asked.outcome;
    expect(asked.text()).toBe("no");
    expect(codesOf(asked)).toEqual(["approval_declined"]);
  });
});

describe("MCP servers", () => {
  test("go as they are where the agent can do HTTP; a stdio server always does", async () => {
    const http = await serve();
    const stdio: McpServer = { name: "s", transport: "stdio", command: "/no/such", env: { A: "1" } };
    await run({ mcpServers: [http, stdio] }).outcome;
    expect(sent("session/new")).toMatchObject({
      mcpServers: [
        { type: "http", name: "tools", url: "url" in http ? http.url : "", headers: [] },
        { name: "s", command: "/no/such", args: [], env: [{ name: "A", value: "1" }] },
      ],
    });
  });

  test("an agent that drops them silently fails the run before the prompt", async () => {
    const clock = new ManualClock();
    const started = run({
      clock,
      mcpServers: [await serve()],
      script: { ignoresServers: true },
      options: { mcpContactMs: 7_000 },
    });
    while (clock.next !== 7_000) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(7_000);
    while (clock.pending > 0) await clock.advance(clock.next ?? 0);
    expect((await started.outcome).error).toMatchObject({ code: "protocol_error" });
    expect(sent("session/prompt")).toBeUndefined();
    await rm(trace);
    const used = run({ mcpServers: [await serve()], options: { mcpContactMs: 7_000 } });
    expect((await used.outcome).status).toBe("finished");
  });
});

describe("errors", () => {
  test.each([
    ["logged_out", "not_authenticated"],
    ["unknown_option", "program_too_old"],
  ] as const)("%s is %s", async (start, code) => {
    expect((await run({ script: { start } }).outcome).error).toMatchObject({ code });
  });

  test("an agent of another version of the protocol is refused", async () => {
    const { error } = await run({ script: { protocolVersion: 0 } }).outcome;
    expect(error).toMatchObject({ code: "program_too_old" });
  });

  test("an agent that does not answer is waited for, but not for ever", async () => {
    const clock = new ManualClock();
    const started = run({ clock, script: { start: "silent" }, options: { startTimeoutMs: 5_000 } });
    while (clock.next !== 5_000) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(5_000);
    while (clock.pending > 0) await clock.advance(clock.next ?? 0);
    expect((await started.outcome).error).toMatchObject({ code: "protocol_error", retryable: true });
  });

  test.each([
    [{ error: { message: "Internal error", data: { details: "503 overloaded" } } }, "model_error", true],
    [{ error: { message: "Bad request" } }, "model_error", false],
    [{ error: { code: -32_000, message: "Authentication required" } }, "not_authenticated", false],
    [{ stop: "max_tokens" }, "limit_reached", false],
    [{ stop: "refusal" }, "model_error", false],
    [{ stop: "cancelled" }, "model_error", false],
  ] as const)("%j is %s", async (step, code, retryable) => {
    expect((await run({ steps: [step] }).outcome).error).toMatchObject({ code, retryable });
  });

  test("a login is asked for where one is chosen", async () => {
    await run({ options: { authMethod: "api-key" } }).outcome;
    expect(sent("authenticate")).toEqual({ methodId: "api-key" });
  });
});

test("an agent that is deaf to a cancel and to everything else is killed in time", async () => {
  const clock = new ManualClock();
  const began = clock.now();
  const { outcome, seen, cancel } = run({
    clock,
    steps: [{ say: "Half" }, { hang: true }],
    script: { deaf: ["cancel", "eof", "sigterm"] },
  });
  await seen((event) => event.type === "text.delta");
  cancel();
  let over = false;
  void outcome.then(() => {
    over = true;
  });
  while (!over) {
    if (clock.pending > 0) await clock.advance(clock.next ?? 0);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect((await outcome).status).toBe("cancelled");
  expect(clock.now() - began).toBeLessThanOrEqual(10_000);
});

test("presets are started as their programs want it, with what they need of the environment", async () => {
  for (const [driver, name, argument] of [
    [gemini({ executable: EXECUTABLE, model: "m" }), "gemini", ["--acp", "--model", "m"]],
    [openCode({ executable: EXECUTABLE, extraArgs: ["--x"] }), "opencode", ["acp", "--x"]],
    [codexAcp({ executable: EXECUTABLE }), "codex-acp", []],
    [cursorAcp({ executable: EXECUTABLE }), "cursor-acp", ["acp"]],
  ] as const) {
    expect(driver.describe()).toMatchObject({ name, capabilities: { approvals: true, mcpHttp: true } });
    expect(driver.describe().environment?.length).toBeGreaterThan(0);
    const env = {
      PATH: process.env.PATH ?? "",
      ...scriptedAcpEnvironment({ trace, script: { turns: [[]] } }),
    };
    const { outcome } = startDriver(driver, { workspace: directory, env });
    expect((await outcome).status).toBe("finished");
    expect(received()[0]).toMatchObject({ argv: argument });
    const { env: names } = received()[0] as { env: string[] };
    expect(names.includes("GEMINI_CLI_TRUST_WORKSPACE")).toBe(name === "gemini");
    await rm(trace);
  }
});
