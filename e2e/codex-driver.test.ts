import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { McpServer } from "../src/core/mcp-server.js";
import { codex } from "../src/drivers/codex/codex.js";
import type { CodexOptions } from "../src/drivers/codex/options.js";
import { trackedGroups } from "../src/drivers/process/process-group.js";
import { startToolServer, type ToolServer, type ToolServerTool } from "../src/testing/claude/tool-server.js";
import { type DriverRun, type DriverRunOptions, startDriver } from "../src/testing/driver-run.js";
import { type ResponsesServer, startResponsesServer } from "../src/testing/responses/responses-server.js";
import type { ResponsesItem, ResponsesScript } from "../src/testing/responses/script.js";
import { CODEX_MISSING, type RealCodex, realCodex } from "./real-codex.js";

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  expect(trackedGroups()).toEqual([]);
});

interface Bench {
  readonly api: ResponsesServer;
  readonly program: RealCodex;
  run(options?: DriverRunOptions & { readonly options?: CodexOptions }): DriverRun;
}

/** The real program with a scripted model. */
async function bench(script: ResponsesScript, model?: string): Promise<Bench> {
  const api = await startResponsesServer({ script });
  closing.push(() => api.close());
  const program = await realCodex({ baseUrl: api.url, ...(model === undefined ? {} : { model }) });
  closing.push(() => program.close());
  return {
    api,
    program,
    run: ({ options, env, ...rest } = {}) =>
      startDriver(codex({ ...program.options, ...options }), {
        workspace: program.workspace,
        env: { ...program.env, ...env },
        ...rest,
      }),
  };
}

async function serve(
  tools: Readonly<Record<string, ToolServerTool>>,
  changes: Partial<McpServer> = {},
): Promise<{ server: ToolServer; mcp: McpServer }> {
  const server = await startToolServer({ tools, token: "the-run-token" });
  closing.push(() => server.close());
  const headers = { Authorization: "Bearer the-run-token" };
  const mcp = { name: "tools", transport: "http", url: server.url, headers, trusted: true, ...changes };
  return { server, mcp: mcp as McpServer };
}

const text = (value: string): ResponsesItem => ({ type: "text", text: value });
const call = (callId: string, name: string, input: Record<string, unknown>): ResponsesItem => ({
  ...{ type: "function_call", callId, name, arguments: input },
});
const tool = (callId: string, name: string): ResponsesItem => ({
  ...{ type: "function_call", callId, name, namespace: "mcp__tools", arguments: {} },
});

const codesOf = ({ events }: DriverRun) =>
  events.flatMap((event) => (event.type === "notice" ? event.code : []));

describe.skipIf(CODEX_MISSING !== undefined)(CODEX_MISSING ?? "the real Codex", () => {
  test("text, thoughts, a command, a plan and a search, and what they cost", async () => {
    const { run } = await bench([
      {
        content: [
          { type: "reasoning", text: "Thinking hard about it." },
          text("I look around, slowly."),
          call("call_sh", "exec_command", { cmd: "echo out; echo err >&2; exit 3" }),
          call("call_plan", "update_plan", { plan: [{ step: "Look", status: "in_progress" }] }),
        ],
      },
    ]);
    const started = run();
    expect(await started.outcome).toMatchObject({ status: "finished", text: "Done." });
    expect(started.text()).toBe("I look around, slowly.Done.");
    const types = started.events.map(({ type }) => type);
    expect(types.filter((type) => type === "text.delta").length).toBeGreaterThan(2);
    for (const event of [
      { type: "tool.start", toolCallId: "call_sh", name: "shell" },
      { type: "tool.result", toolCallId: "call_sh", content: "out\nerr\nExit code: 3", isError: true },
      { type: "plan.updated", steps: [{ text: "Look", status: "in_progress" }] },
      { type: "usage", usage: { inputTokens: 20, outputTokens: 10, cachedInputTokens: 4 } },
    ])
      expect(started.events).toContainEqual(expect.objectContaining(event));
    expect(types).toContain("reasoning.delta");
  });

  test("a file change is asked for with its diff, and made when it may be", async () => {
    const input = "*** Begin Patch\n*** Add File: b.txt\n+hello\n*** End Patch\n";
    const script = [
      { content: [{ type: "custom_tool_call", name: "apply_patch", callId: "call_p", input }] },
    ] as const;
    const { run, program } = await bench(script, "gpt-5.5");
    const started = run();
    expect(await started.outcome).toMatchObject({ status: "finished" });
    expect(started.questions[0]?.request).toMatchObject({
      tool: "apply_patch",
      toolCallId: "call_p",
      input: { changes: [{ path: join(program.workspace, "b.txt"), diff: "hello\n" }] },
    });
    expect(readFileSync(join(program.workspace, "b.txt"), "utf8")).toBe("hello\n");
    expect(started.events).toContainEqual(
      expect.objectContaining({ type: "tool.result", toolCallId: "call_p", isError: false }),
    );
  });

  test("code mode: a call that outlives its turn still gets its result, under the id its server was told", async () => {
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { server, mcp } = await serve({
      slow: {
        readOnly: true,
        call: () => released.then(() => ({ content: [{ type: "text", text: "late" }] })),
      },
    });
    const input = '// @exec: {"yield_time_ms": 200}\ntext(JSON.stringify(await tools.mcp__tools__slow({})));';
    const script = [
      { content: [{ type: "custom_tool_call", name: "exec", input }] },
      { content: [text("I go on.")] },
    ] as const;
    const { run } = await bench(script, "gpt-6.2-sol");
    const started = run({ mcpServers: [mcp] });
    await server.received(1);
    await started.seen((event) => event.type === "text.end");
    release();
    expect(await started.outcome).toMatchObject({ status: "finished", text: "I go on." });
    const { callId } = server.calls[0]?.meta ?? {};
    expect(started.events.at(-1)).toMatchObject({ type: "tool.result", toolCallId: callId, content: "late" });
  });

  test("an interrupted command keeps its output, and nothing of it goes on", async () => {
    const { run, program } = await bench([
      { content: [call("call_sh", "exec_command", { cmd: "echo first; echo $$ > pid; sleep 100" })] },
    ]);
    const started = run({ options: { sandbox: "danger-full-access" } });
    const file = join(program.workspace, "pid");
    await expect.poll(() => existsSync(file) && readFileSync(file, "utf8").endsWith("\n")).toBe(true);
    // The command works before it is told.
    await started.seen((event) => event.type === "tool.end");
    started.cancel();
    expect(await started.outcome).toMatchObject({
      status: "cancelled",
      terminal: { status: "interrupted" },
    });
    expect(started.events).toContainEqual({
      type: "tool.result",
      toolCallId: "call_sh",
      content: "first\nExit code: -1",
      isError: true,
    });
    const pid = Number(readFileSync(file, "utf8"));
    await expect
      .poll(() => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, "utf8"))
      .toBeFalsy();
  });

  test("an untrusted server's tool is asked for, under its call", async () => {
    const look: ToolServerTool = { call: () => ({ content: [{ type: "text", text: "seen" }] }) };
    const { server, mcp } = await serve({ look }, { trusted: false });
    const { run } = await bench([
      { content: [tool("call_m", "look")] },
      { content: [tool("call_n", "look")] },
    ]);
    let asked = 0;
    const started = run({
      mcpServers: [mcp],
      approve: () => ({ decision: ++asked === 1 ? "approve" : "deny" }),
    });
    expect(await started.outcome).toMatchObject({ status: "finished" });
    expect(started.questions.map(({ request }) => request)).toMatchObject([
      { kind: "permission", tool: "mcp__tools__look", toolCallId: "call_m", input: {} },
      { toolCallId: "call_n" },
    ]);
    expect(server.calls).toHaveLength(1);
    expect(started.events).toContainEqual(
      expect.objectContaining({
        toolCallId: "call_n",
        content: "user rejected MCP tool call",
        isError: true,
      }),
    );
  });

  test("a server that the run needs and that refuses ends the run; another one does not", async () => {
    const refused = { headers: { Authorization: "Bearer wrong" } };
    const { mcp } = await serve({}, refused);
    const { run, api } = await bench([]);
    expect((await run({ mcpServers: [mcp] }).outcome).error).toMatchObject({
      code: "protocol_error",
      message: expect.stringMatching(/MCP server that the run needs: tools: .*401/),
    });
    expect(api.requests).toEqual([]);
    const other = run({ mcpServers: [{ ...mcp, trusted: false } as McpServer] });
    expect(await other.outcome).toMatchObject({ status: "finished" });
  });

  test("failures of the model are typed", async () => {
    const outcome = async (reply: Exclude<ResponsesScript, (...args: never[]) => unknown>[number]) =>
      await (await bench(() => reply)).run({ persist: true }).outcome;
    const refused = await outcome({ error: { status: 401, message: "Incorrect API key" } });
    expect(refused).toMatchObject({ status: "failed", error: { code: "not_authenticated" } });
    expect(refused).not.toHaveProperty("checkpoint");
    expect(await outcome({ error: { status: 500 } })).toMatchObject({
      error: { code: "model_error", retryable: true },
    });
    expect(await outcome({ failed: { code: "context_length_exceeded", message: "x" } })).toMatchObject({
      error: { code: "limit_reached" },
    });
    expect(await outcome({ content: [text("Half")], cut: true })).toMatchObject({
      error: { code: "model_error", retryable: true },
    });
  });

  test("without a login nothing is asked of anybody", async () => {
    const { run, api, program } = await bench([]);
    const config = Object.fromEntries(
      Object.entries(program.options.config ?? {}).filter(([name]) => !name.startsWith("model_provider")),
    );
    const { error } = await run({ options: { config } }).outcome;
    expect(error).toMatchObject({ code: "not_authenticated" });
    expect(error?.message).toContain("it has no account");
    expect(api.requests).toEqual([]);
  });

  test("a fork leaves the old conversation as it is; a conversation that is gone is told", async () => {
    const { run, api } = await bench([]);
    const { checkpoint } = await run({ prompt: "First.", persist: true }).outcome;
    if (checkpoint === undefined) throw new Error("no checkpoint");
    const fork = await run({ prompt: "Aside.", persist: true, resume: { checkpoint, fork: true } }).outcome;
    expect(fork.checkpoint?.session).not.toBe(checkpoint.session);
    const again = await run({ prompt: "Second.", persist: true, resume: { checkpoint, fork: false } })
      .outcome;
    expect(again.checkpoint).toEqual(checkpoint);
    const input = (at: number) => JSON.stringify(api.requests[at]?.conversation.body.input);
    expect(input(1)).toContain("First.");
    expect(input(2)).toContain("First.");
    expect(input(2)).not.toContain("Aside.");
    const gone = { ...checkpoint, session: "01a22d85-4a58-7a92-9b1f-993f80c03d52" };
    expect(
      (await run({ persist: true, resume: { checkpoint: gone, fork: false } }).outcome).error,
    ).toMatchObject({
      code: "resume_failed",
    });
  });

  test("a prompt of 1 MB arrives", async () => {
    const { run, api } = await bench([]);
    const prompt = `${"ä€👩‍👩‍👧\n".repeat(50_000)}end`;
    expect(await run({ prompt }).outcome).toMatchObject({ status: "finished" });
    expect(api.requests[0]?.conversation.prompt).toBe(prompt);
  });

  test("the token is in no argument and no variable of the program, and in nothing that it says", async () => {
    const { server, mcp } = await serve({ look: { call: () => new Promise(() => {}) } });
    const { run } = await bench([{ content: [tool("call_m", "look")] }]);
    const started = run({ mcpServers: [mcp] });
    await server.received(1);
    const [pid] = trackedGroups();
    for (const file of ["cmdline", "environ"])
      expect(readFileSync(`/proc/${pid}/${file}`, "utf8")).not.toContain("the-run-token");
    started.cancel();
    await started.outcome;
    expect(JSON.stringify([started.raw, started.events])).not.toContain("the-run-token");
    expect(codesOf(started)).not.toContain("unreadable_output");
  });
});
