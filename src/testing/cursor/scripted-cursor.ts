#!/usr/bin/env node
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { fillPlaceholders } from "../program/placeholders.js";
import { type OfferedTool, type ServerConfig, ToolClients } from "../program/tool-clients.js";
import { createTrace, type Trace } from "../program/trace.js";
import { type CursorScript, type CursorStep, parseCursorScript } from "./script.js";

/**
 * A program that speaks the stream that Cursor documents for its agent, and calls the MCP servers of the workspace's
 * `.cursor/mcp.json` for real, but says what a script tells it to. Variables:
 * - `TROUPE_SCRIPT` (a file) or `TROUPE_SCRIPT_JSON`: the script, see `CursorScript`; default: delegate the prompt to `research`;
 * - `TROUPE_PACE_MS`: milliseconds between two words;
 * - `TROUPE_TRACE`: a file that gets a JSON line for everything received.
 */
const VERSION = "2026.08.20-scripted";
const CALL_TIMEOUT_MS = 600_000;
/** How often it looks whether its parent was killed. */
const PARENT_CHECK_MS = 500;

type Fields = Readonly<Record<string, unknown>>;

const VALUED = ["--output-format", "--model", "--mode", "--sandbox", "--resume"];
const PLAIN = ["--print", "-p", "--stream-partial-output", "--trust", "--approve-mcps", "--force"];

function main(): void {
  const { TROUPE_SCRIPT: file, TROUPE_SCRIPT_JSON: json, TROUPE_TRACE: trace } = process.env;
  const script = parseCursorScript(file ? readFileSync(file, "utf8") : json);
  const args = process.argv.slice(2);
  const values = new Map<string, string>();
  const known = script.start === "unknown_option" ? PLAIN.slice(0, 2) : PLAIN;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (VALUED.includes(arg)) values.set(arg, args[++at] ?? "");
    else if (known.includes(arg)) values.set(arg, "");
    else leave(`error: unknown option '${arg}'`);
  }
  if (script.start === "logged_out")
    leave("Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY.");
  const resumed = values.get("--resume");
  if (resumed !== undefined && script.forgetful) leave(`Error: Chat ${resumed} not found`);
  const program = new ScriptedCursor(script, values, createTrace(trace));
  void program.run(args);
}

function leave(words: string): never {
  console.error(words);
  process.exit(1);
}

class ScriptedCursor {
  readonly #script: CursorScript;
  readonly #values: ReadonlyMap<string, string>;
  readonly #trace: Trace;
  readonly #session: string;
  readonly #clients: ToolClients;
  readonly #abort = new AbortController();
  readonly #results: string[] = [];
  #prompt = "";
  /** The message that is being written, and all that was said. */
  #message = "";
  #whole = "";
  #lastFailed = false;

  constructor(script: CursorScript, values: ReadonlyMap<string, string>, trace: Trace) {
    this.#script = script;
    this.#values = values;
    this.#trace = trace;
    this.#session = values.get("--resume") ?? randomUUID();
    this.#clients = new ToolClients({
      elicit: async () => ({ action: "decline" }),
      client: { name: "cursor-vscode", version: VERSION },
      capabilities: {},
      legacy: true,
      timeoutMs: CALL_TIMEOUT_MS,
      meta: () => ({}),
    });
  }

  async run(args: readonly string[]): Promise<void> {
    this.#trace({ argv: args, env: Object.keys(process.env).sort(), cwd: process.cwd(), pid: process.pid });
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.on(signal, () => {
        if (this.#script.deaf?.includes(signal === "SIGINT" ? "sigint" : "sigterm")) return;
        this.#abort.abort();
        process.exit(130);
      });
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) process.exit(1);
    }, PARENT_CHECK_MS);
    this.#prompt = await readInput();
    this.#trace({ prompt: this.#prompt.length });
    this.#write({
      type: "system",
      subtype: "init",
      apiKeySource: "login",
      cwd: process.cwd(),
      model: this.#values.get("--model") ?? "Auto",
      permissionMode: "default",
    });
    this.#write({ type: "user", message: message("user", this.#prompt) });
    if (!this.#script.ignoresServers && this.#values.has("--approve-mcps"))
      await this.#clients.connect(this.#servers());
    for (const step of this.#script.steps) await this.#step(step);
    // All of it once more, without a time.
    if (this.#message !== "")
      this.#write({ type: "assistant", message: message("assistant", this.#message) });
    const durations = { duration_ms: 1, duration_api_ms: 1 };
    this.#write({
      ...{ type: "result", subtype: "success", is_error: false, result: this.#whole },
      ...durations,
      request_id: randomUUID(),
    });
    // An exit would cut off what does not fit into the pipe.
    process.stdout.write("", () => process.exit(0));
  }

  #servers(): Record<string, ServerConfig> {
    if (!existsSync(".cursor/mcp.json")) return {};
    const text = readFileSync(".cursor/mcp.json", "utf8");
    const expanded = this.#script.leavesVariables
      ? text
      : text.replace(/\$\{env:(\w+)\}/g, (_, name: string) => process.env[name] ?? "");
    return (JSON.parse(expanded) as { mcpServers?: Record<string, ServerConfig> }).mcpServers ?? {};
  }

  async #step(step: CursorStep): Promise<void> {
    if ("think" in step) {
      this.#write({ type: "thinking", subtype: "delta", text: this.#fill(step.think), timestamp_ms: 1 });
      this.#write({ type: "thinking", subtype: "completed", timestamp_ms: 1 });
    } else if ("say" in step) await this.#say(step);
    else if ("tools" in step) await this.#tools(step.tools);
    else if ("shell" in step) this.#shell(this.#fill(step.shell));
    else if ("event" in step) this.#write(step.event);
    else if ("fail" in step) leave(step.fail);
    else if ("exit" in step) process.exit(step.exit);
    else if ("die" in step) {
      process.kill(process.pid, step.die);
      await new Promise(() => {});
    } else if ("hang" in step) await new Promise(() => {});
    else if ("garbage" in step) process.stdout.write(`${step.garbage}\n`);
    else process.stderr.write(this.#fill(step.stderr));
  }

  async #say(step: Extract<CursorStep, { say: string }>): Promise<void> {
    if (step.when !== undefined && (step.when === "error") !== this.#lastFailed) return;
    const delay = step.delayMs ?? (Number(process.env.TROUPE_PACE_MS ?? 0) || 0);
    for (const [index, text] of (this.#fill(step.say).match(/\s*\S+\s*$|\s*\S+/g) ?? []).entries()) {
      if (index > 0 && delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
      this.#message += text;
      this.#whole += text;
      this.#write({ type: "assistant", message: message("assistant", text), timestamp_ms: 1 });
    }
  }

  /** Before a tool works, the message so far is written again, with the id of the request. */
  #endMessage(): string {
    const model_call_id = `${randomUUID()}-0`;
    if (this.#message !== "") {
      const repeated = message("assistant", this.#message);
      this.#write({ type: "assistant", message: repeated, model_call_id, timestamp_ms: 1 });
    }
    this.#message = "";
    return model_call_id;
  }

  async #tools(tools: Extract<CursorStep, { tools: unknown }>["tools"]): Promise<void> {
    const model_call_id = this.#endMessage();
    const ended = tools.map(async (tool) => {
      const offered = this.#clients.find(tool.name);
      const place = this.#results.push("") - 1;
      if (!offered) {
        this.#results[place] = `unknown tool: ${tool.name}`;
        return true;
      }
      const call_id = tool.id ?? `call_${randomUUID()}\nfc_${randomUUID()}`;
      return this.#call(offered, { call_id, model_call_id }, this.#fill(tool.input ?? {}), place);
    });
    this.#lastFailed = (await Promise.all(ended)).includes(true);
  }

  async #call({ server, tool }: OfferedTool, ids: Fields, input: unknown, place: number): Promise<boolean> {
    const args = {
      name: `${server}-${tool.name}`,
      args: input,
      toolCallId: ids.call_id,
      providerIdentifier: server,
      toolName: tool.name,
    };
    const write = (subtype: string, result?: Fields) =>
      this.#write({
        type: "tool_call",
        subtype,
        ...ids,
        tool_call: { mcpToolCall: { args, ...(result && { result }) } },
        timestamp_ms: 1,
      });
    write("started");
    const offered = { server, tool, name: `mcp__${server}__${tool.name}` };
    const { text, isError } = await this.#clients.call(
      offered,
      input,
      String(ids.call_id),
      this.#abort.signal,
    );
    this.#trace({ tool_result: { name: tool.name, text, isError } });
    this.#results[place] = text;
    write("completed", { success: { content: [{ text: { text } }], isError } });
    return isError;
  }

  #shell(step: Extract<CursorStep, { shell: unknown }>["shell"]): void {
    const { command, output = "", exitCode = 0, id = `call_${randomUUID()}` } = step;
    const ids = { call_id: id, model_call_id: this.#endMessage() };
    const write = (subtype: string, result?: Fields) =>
      this.#write({
        type: "tool_call",
        subtype,
        ...ids,
        tool_call: { shellToolCall: { args: { command }, ...(result && { result }) } },
        timestamp_ms: 1,
      });
    write("started");
    const rejected = step.ask === true && !this.#values.has("--force");
    this.#results.push(rejected ? "rejected" : output);
    if (rejected) write("completed", { rejected: { reason: "Needs approval, and nobody can be asked." } });
    else write("completed", { success: { exitCode, stdout: output, stderr: "", executionTime: 1 } });
  }

  #write(event: Fields): void {
    process.stdout.write(`${JSON.stringify({ ...event, session_id: this.#session })}\n`);
  }

  #fill<T>(value: T): T {
    return fillPlaceholders(value, { prompt: this.#prompt, results: this.#results });
  }
}

function message(role: string, text: string): Fields {
  return { role, content: [{ type: "text", text }] };
}

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

main();
