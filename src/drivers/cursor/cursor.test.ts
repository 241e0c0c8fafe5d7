import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { McpServer } from "../../core/mcp-server.js";
import { startToolServer, type ToolServer } from "../../testing/claude/tool-server.js";
import type { CursorScript, CursorStep } from "../../testing/cursor/script.js";
import { scriptedCursor, scriptedCursorEnvironment } from "../../testing/cursor/start.js";
import { type DriverRun, type DriverRunOptions, startDriver } from "../../testing/driver-run.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { trackedGroups } from "../process/process-group.js";
import { cursor } from "./cursor.js";
import { addressVariable, cursorCommand } from "./launch.js";
import type { CursorOptions } from "./options.js";

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
  readonly steps?: readonly CursorStep[];
  readonly script?: Partial<CursorScript>;
  readonly options?: CursorOptions;
}

function run({ steps = [{ say: "Hi" }], script, options, ...rest }: Setup = {}): DriverRun {
  const variables = scriptedCursorEnvironment({ trace, script: { steps, ...script } });
  return startDriver(cursor({ executable: scriptedCursor(), ...options }), {
    workspace: directory,
    env: { PATH: process.env.PATH ?? "", ...variables },
    ...rest,
  });
}

async function serve(summary = "seen"): Promise<McpServer> {
  const answer = { content: [{ type: "text" as const, text: summary }] };
  const server = await startToolServer({ tools: { look: { call: () => answer } }, token: TOKEN });
  servers.push(server);
  const headers = { Authorization: `Bearer ${TOKEN}` };
  return { name: "a2a-subagents", transport: "http", url: server.url, headers, trusted: true };
}

const codesOf = ({ events }: DriverRun) =>
  events.flatMap((event) => (event.type === "notice" ? event.code : []));

test("the command line: careful by default, no prompt in it, servers approved only where there are some", () => {
  const none = { mcpServers: [] };
  expect(cursorCommand({}, none)).toEqual([
    ...["agent", "--print", "--output-format", "stream-json", "--stream-partial-output", "--trust"],
  ]);
  const options: CursorOptions = {
    executable: ["cursor-agent", "x"],
    model: "m",
    mode: "plan",
    sandbox: "enabled",
    force: true,
    trustWorkspace: false,
    extraArgs: ["--y"],
  };
  const checkpoint = { driver: "cursor", workspace: "/w", session: "s" };
  const mcpServers: McpServer[] = [{ name: "a", transport: "http", url: "http://x" }];
  expect(cursorCommand(options, { mcpServers, resume: { checkpoint, fork: false } }).slice(6)).toEqual([
    ...["--approve-mcps", "--force", "--model", "m", "--mode", "plan", "--sandbox", "enabled"],
    ...["--resume", "s", "--y"],
  ]);
  expect(addressVariable({ name: "a2a-subagents" })).toBe("TROUPE_MCP_A2A_SUBAGENTS");
});

test("text in each of its shapes is said once", async () => {
  const said = (text: string, more: object = {}) => ({
    event: { type: "assistant", message: { content: [{ type: "text", text }] }, ...more },
  });
  const time = { timestamp_ms: 1 };
  const steps = [
    said("One ", time),
    said("two", time),
    said("One two", { model_call_id: "m", ...time }),
    { shell: { command: "ls", id: "c1", output: "a.txt" } },
    said("Three", time),
    said("One twoThree four"),
    said("Three four"),
  ];
  const { outcome, text } = run({ steps });
  expect((await outcome).status).toBe("finished");
  expect(text()).toBe("One twoThree four");
  // Without partial output each message comes whole.
  const whole = run({ steps: [said("All at once.")] });
  await whole.outcome;
  expect(whole.text()).toBe("All at once.");
});

test("reasoning, commands that fail or are rejected, tools of other kinds, and a retry", async () => {
  const tool = (subtype: string, toolCall: object) => ({
    event: { type: "tool_call", subtype, call_id: "r1", tool_call: toolCall },
  });
  const started = run({
    steps: [
      { think: "Hm" },
      { shell: { command: "false", id: "c1", output: "no", exitCode: 2 } },
      { shell: { command: "rm x", id: "c2", ask: true } },
      tool("started", { readToolCall: { args: { path: "a" } } }),
      tool("completed", { readToolCall: { args: { path: "a" }, result: { success: { content: "text" } } } }),
      tool("completed", { readToolCall: { args: { path: "a" }, result: { error: {} } } }),
      { event: { type: "retry", subtype: "starting", attempt: 1 } },
      { event: { type: "tool_call", subtype: "started", tool_call: null } },
      { event: { type: "something_new" } },
      { say: "Done" },
    ],
  });
  const { events } = started;
  expect((await started.outcome).status).toBe("finished");
  expect(events).toContainEqual(expect.objectContaining({ type: "reasoning.delta", delta: "Hm" }));
  const results = events.filter((event) => event.type === "tool.result");
  expect(results).toEqual([
    { type: "tool.result", toolCallId: "c1", content: "no\nExit code: 2", isError: true },
    {
      type: "tool.result",
      toolCallId: "c2",
      content: "Needs approval, and nobody can be asked.",
      isError: true,
    },
    { type: "tool.result", toolCallId: "r1", content: "text", isError: false },
  ]);
  expect(codesOf(started)).toEqual(["api_retry"]);
});

test("two runs in one workspace: each reaches its own server, and the file is as before", async () => {
  await mkdir(join(directory, ".cursor"));
  const file = join(directory, ".cursor/mcp.json");
  await writeFile(file, '{"mcpServers":{}}');
  const steps = [{ tools: [{ name: "look" }] }, { say: "It says {{result.0}}" }];
  const runs = ["mine", "other"].map(async (summary) => {
    const { outcome, text } = run({ mcpServers: [await serve(summary)], steps });
    await outcome;
    return text();
  });
  expect(await Promise.all(runs)).toEqual(["It says mine", "It says other"]);
  expect(readFileSync(file, "utf8")).toBe('{"mcpServers":{}}');
  expect(readdirSync(join(directory, ".cursor"))).toEqual(["mcp.json"]);
});

test("the file holds no credential while the run works, also where the program leaves its variables alone", async () => {
  const file = join(directory, ".cursor/mcp.json");
  const started = run({
    mcpServers: [await serve()],
    script: { leavesVariables: true },
    steps: [{ tools: [{ name: "look" }] }, { say: "{{result.0}}" }, { hang: true }],
  });
  await started.seen((event) => event.type === "text.delta");
  expect(started.text()).toBe("seen");
  expect(readFileSync(file, "utf8")).not.toContain(TOKEN);
  expect(readFileSync(file, "utf8")).toContain("${env:TROUPE_MCP_A2A_SUBAGENTS}");
  started.cancel();
  expect((await started.outcome).status).toBe("cancelled");
  expect(existsSync(join(directory, ".cursor"))).toBe(false);
});

test("a server that the program never used is told", async () => {
  const ignoring = run({ mcpServers: [await serve()], script: { ignoresServers: true } });
  expect((await ignoring.outcome).status).toBe("finished");
  expect(codesOf(ignoring)).toEqual(["mcp_server_failed"]);
});

test("a workspace whose file cannot be read is refused, and the file is left alone", async () => {
  await mkdir(join(directory, ".cursor"));
  await writeFile(join(directory, ".cursor/mcp.json"), "{ // mine");
  const { error } = await run({ mcpServers: [await serve()] }).outcome;
  expect(error).toMatchObject({ code: "invalid_input" });
  expect(existsSync(trace)).toBe(false);
});

test.each([
  [{ script: { start: "logged_out" as const } }, "not_authenticated"],
  [{ steps: [{ fail: "Error: something broke" }] }, "program_died"],
  [
    { steps: [{ event: { type: "result", subtype: "error", is_error: true, result: "429 rate limit" } }] },
    "model_error",
  ],
])("%j is %s", async (setup, code) => {
  expect((await run(setup).outcome).error).toMatchObject({ code });
});

test("a program that is deaf to interrupts is killed in time", async () => {
  const clock = new ManualClock();
  const began = clock.now();
  const { outcome, seen, cancel } = run({
    clock,
    steps: [{ say: "Half" }, { hang: true }],
    script: { deaf: ["sigint", "sigterm"] },
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
