#!/usr/bin/env node
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { type Elicit, type ServerConfig, ToolClients } from "../program/tool-clients.js";
import { createTrace, type Trace } from "../program/trace.js";
import { type CommandLine, parseCommandLine } from "./command-line.js";
import { ControlPeer } from "./control-peer.js";
import { FrameWriter } from "./frame-writer.js";
import { parseScript, type Script } from "./script.js";
import { ScriptedTurn } from "./scripted-turn.js";

/**
 * A program that speaks Claude Code's stream-json and control protocol and calls its MCP servers for real, but says what a script
 * tells it to. Variables:
 * - `TROUPE_SCRIPT` (a file) or `TROUPE_SCRIPT_JSON`: the script, see `Script`; default: delegate the prompt to `research`;
 * - `TROUPE_PACE_MS`: milliseconds between two words;
 * - `TROUPE_TRACE`: a file that gets a JSON line for everything received;
 * - `MCP_PROTOCOL_NEGOTIATION=legacy`: speak MCP as before 2026-07-28.
 */
const VERSION = "2.1.332";
/** The program's own limit of one call. */
const CALL_TIMEOUT_MS = 100_000_000;
/** What an interrupted program still does before it exits: its MCP clients tell their servers. */
const FAREWELL_MS = 50;
/** How often it looks whether its parent was killed. */
const PARENT_CHECK_MS = 500;

function main(): void {
  const args = process.argv.slice(2);
  if (args.includes("--version")) {
    console.log(`${VERSION} (Claude Code)`);
    return;
  }
  const { TROUPE_SCRIPT: file, TROUPE_SCRIPT_JSON: json, TROUPE_TRACE: trace } = process.env;
  const script = parseScript(file ? readFileSync(file, "utf8") : json);
  let commandLine: CommandLine;
  try {
    commandLine = parseCommandLine(args, script.start === "unknown_option" ? ["--await-initialize"] : []);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  }
  new ScriptedClaude(script, commandLine, createTrace(trace)).start(args);
}

class ScriptedClaude {
  readonly #script: Script;
  readonly #commandLine: CommandLine;
  readonly #trace: Trace;
  readonly #session: string;
  readonly #writer: FrameWriter;
  readonly #control: ControlPeer;
  readonly #clients: ToolClients;
  readonly #prompts: string[] = [];
  #turns = 0;
  #turn: ScriptedTurn | undefined;
  #connecting: Promise<void> = Promise.resolve();
  #ended = false;
  #interrupted = false;
  #failed = false;

  constructor(script: Script, commandLine: CommandLine, trace: Trace) {
    this.#script = script;
    this.#commandLine = commandLine;
    this.#trace = trace;
    const { resume, sessionId, fork } = commandLine;
    this.#session = (fork ? undefined : resume) ?? sessionId ?? randomUUID();
    this.#writer = new FrameWriter(this.#session, commandLine.model);
    this.#control = new ControlPeer((frame) => this.#writer.write(frame));
    const legacy = process.env.MCP_PROTOCOL_NEGOTIATION === "legacy";
    this.#clients = new ToolClients({
      elicit: (server, request) => this.#elicit(server, request),
      client: { name: "claude-code", title: "Claude Code", version: VERSION },
      capabilities: { roots: { listChanged: true }, elicitation: { form: {}, url: {} } },
      legacy,
      timeoutMs: CALL_TIMEOUT_MS,
      meta: (callId) => ({ "claudecode/toolUseId": callId }),
    });
  }

  start(args: readonly string[]): void {
    this.#trace({ argv: args, env: Object.keys(process.env).sort(), cwd: process.cwd(), pid: process.pid });
    if (this.#script.forgetful && this.#commandLine.resume !== undefined) {
      const message = `No conversation found with session ID: ${this.#commandLine.resume}`;
      this.#writer.result({
        subtype: "error_during_execution",
        is_error: true,
        errors: [message],
        terminal_reason: undefined,
      });
      console.error(message);
      process.exit(1);
    }
    process.on("SIGTERM", () => this.#terminate());
    const input = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
    input.on("line", (line) => this.#line(line));
    input.on("close", () => {
      this.#ended = true;
      this.#exitWhenIdle();
    });
    // A turn that hangs must not let the process end because nothing else is going on, and must not outlive whoever started it.
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) process.exit(1);
    }, PARENT_CHECK_MS);
  }

  #line(line: string): void {
    if (line.trim() === "") return;
    let value: Record<string, unknown>;
    try {
      value = JSON.parse(line) as Record<string, unknown>;
    } catch {
      console.error("Error parsing streaming input line");
      process.exit(1);
    }
    this.#trace({ stdin: value });
    const request = value.request as Record<string, unknown> | undefined;
    if (value.type === "control_response") this.#control.answered(value.response as Record<string, unknown>);
    else if (value.type === "control_request" && request) this.#request(String(value.request_id), request);
    else if (value.type === "user") this.#prompt(value.message as { content?: unknown });
  }

  #request(id: string, request: Readonly<Record<string, unknown>>): void {
    const respond = (response: Readonly<Record<string, unknown>>) =>
      this.#writer.write({
        type: "control_response",
        response: { subtype: "success", request_id: id, response },
      });
    if (request.subtype === "initialize") {
      if (this.#script.start === "silent") return;
      const servers = this.#script.start === "ignores_servers" ? undefined : request.mcpServers;
      if (servers !== undefined)
        this.#connecting = this.#clients.connect(servers as Record<string, ServerConfig>);
      respond({
        commands: [],
        pid: process.pid,
        claude_code_version: VERSION,
        capabilities: [],
        ...(servers === undefined ? {} : { mcp_servers_applied: true }),
      });
    } else if (request.subtype === "interrupt") {
      if (this.#script.deaf?.includes("interrupt")) return;
      this.#interrupted = true;
      this.#turn?.interrupt();
      respond({ still_queued: [] });
    } else {
      const error = `Unsupported control request subtype: ${String(request.subtype)}`;
      this.#writer.write({ type: "control_response", response: { subtype: "error", request_id: id, error } });
    }
  }

  #prompt(message: { content?: unknown }): void {
    const blocks = Array.isArray(message.content)
      ? message.content
      : [{ type: "text", text: message.content }];
    this.#prompts.push(blocks.map((block: { text?: unknown }) => String(block.text ?? "")).join("\n"));
    if (!this.#turn) void this.#work();
  }

  async #work(): Promise<void> {
    await this.#connecting;
    for (let prompt = this.#prompts.shift(); prompt !== undefined; prompt = this.#prompts.shift()) {
      const { turns } = this.#script;
      this.#turn = new ScriptedTurn({
        steps: turns[Math.min(this.#turns++, turns.length - 1)] ?? [],
        prompt,
        writer: this.#writer,
        control: this.#control,
        clients: this.#clients,
        commandLine: this.#commandLine,
        paceMs: Number(process.env.TROUPE_PACE_MS ?? 0) || 0,
        trace: this.#trace,
      });
      this.#init();
      this.#failed = await this.#turn.run();
      this.#turn = undefined;
    }
    this.#exitWhenIdle();
  }

  /** Repeated at every turn, as the real program does. */
  #init(): void {
    this.#writer.system("init", {
      cwd: process.cwd(),
      tools: ["Agent", "Bash", ...this.#clients.tools.map((offered) => offered.name)],
      mcp_servers: this.#clients.status,
      model: this.#commandLine.model,
      permissionMode: "default",
      claude_code_version: VERSION,
    });
  }

  async #elicit(
    server: string,
    request: { message: string; mode: string; schema: unknown },
  ): ReturnType<Elicit> {
    const answer = await this.#control.ask({
      subtype: "elicitation",
      mcp_server_name: server,
      message: request.message,
      mode: request.mode,
      requested_schema: request.schema,
    });
    if (answer?.action !== "accept") return { action: answer?.action === "decline" ? "decline" : "cancel" };
    return { action: "accept", content: (answer.content ?? {}) as Record<string, string> };
  }

  #terminate(): void {
    if (this.#script.deaf?.includes("sigterm")) return;
    for (const id of this.#turn?.outstanding ?? []) {
      this.#writer.toolResult(id, "MCP error -32000: connection closed", true);
    }
    process.exit(143);
  }

  #exitWhenIdle(): void {
    if (!this.#ended || this.#turn || this.#prompts.length > 0 || this.#script.deaf?.includes("eof")) return;
    setTimeout(() => process.exit(this.#failed ? 1 : 0), this.#interrupted ? FAREWELL_MS : 0);
  }
}

main();
