#!/usr/bin/env node
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { type Elicit, ToolClients } from "../program/tool-clients.js";
import { createTrace, type Trace } from "../program/trace.js";
import { AppServerWriter, type Fields } from "./app-server-writer.js";
import { type CodexScript, parseCodexScript } from "./script.js";
import { type CodexServerConfig, ScriptedTurn } from "./scripted-turn.js";

/**
 * A program that speaks the protocol of Codex's app-server and calls its MCP servers for real, but says what a script tells it to.
 * Variables:
 * - `TROUPE_SCRIPT` (a file) or `TROUPE_SCRIPT_JSON`: the script, see `CodexScript`; default: delegate the prompt to `research`;
 * - `TROUPE_PACE_MS`: milliseconds between two words;
 * - `TROUPE_TRACE`: a file that gets a JSON line for everything received.
 */
const VERSION = "0.171.0";
/** The program's own limit of one call. */
const CALL_TIMEOUT_MS = 300_000;
/** What an interrupted program still does before it exits: its MCP clients tell their servers. */
const FAREWELL_MS = 50;
/** How often it looks whether its parent was killed. */
const PARENT_CHECK_MS = 500;

function main(): void {
  const args = process.argv.slice(2);
  if (args.includes("--version")) {
    console.log(`codex-cli ${VERSION}`);
    return;
  }
  const { TROUPE_SCRIPT: file, TROUPE_SCRIPT_JSON: json, TROUPE_TRACE: trace } = process.env;
  const script = parseCodexScript(file ? readFileSync(file, "utf8") : json);
  if (args[0] !== "app-server" || script.start === "unknown_command") {
    console.error(`error: unrecognized subcommand '${args[0] ?? ""}'`);
    process.exit(2);
  }
  new ScriptedCodex(script, createTrace(trace)).start(args);
}

class ScriptedCodex {
  readonly #script: CodexScript;
  readonly #trace: Trace;
  readonly #writer = new AppServerWriter();
  readonly #clients: ToolClients;
  #servers: Readonly<Record<string, CodexServerConfig>> = {};
  #turns = 0;
  #turn: ScriptedTurn | undefined;
  #started = false;
  #ended = false;

  constructor(script: CodexScript, trace: Trace) {
    this.#script = script;
    this.#trace = trace;
    this.#clients = new ToolClients({
      elicit: (server, request) => this.#elicit(server, request),
      client: { name: "codex-mcp-client", title: "Codex", version: VERSION },
      capabilities: { elicitation: { form: {}, url: {} } },
      legacy: true,
      timeoutMs: CALL_TIMEOUT_MS,
      meta: (callId) => ({ callId, threadId: this.#writer.thread }),
      structuredErrors: true,
    });
  }

  start(args: readonly string[]): void {
    this.#trace({ argv: args, env: Object.keys(process.env).sort(), cwd: process.cwd(), pid: process.pid });
    process.on("SIGTERM", () => this.#leave("sigterm"));
    const input = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
    input.on("line", (line) => this.#line(line));
    input.on("close", () => this.#leave("eof"));
    // A turn that hangs must not let the process end because nothing else is going on, and must not outlive whoever started it.
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) process.exit(1);
    }, PARENT_CHECK_MS);
  }

  #line(line: string): void {
    if (line.trim() === "") return;
    const message = JSON.parse(line) as Record<string, unknown>;
    this.#trace({ stdin: message });
    const params = (message.params ?? {}) as Record<string, unknown>;
    if (typeof message.method === "string" && message.id !== undefined)
      void this.#request(message.id, message.method, params);
    else if (message.id !== undefined)
      this.#writer.answered(message.id, { ...((message.result ?? { error: message.error }) as object) });
  }

  async #request(id: unknown, method: string, params: Fields): Promise<void> {
    const writer = this.#writer;
    if (method === "initialize") {
      if (this.#script.start === "silent") return;
      const { name } = params.clientInfo as { name: string };
      const version = this.#script.version ?? VERSION;
      writer.respond(id, {
        userAgent: `${name}/${version} (Debian 12.0.0; x86_64) unknown (${name}; 0.1.0)`,
      });
      writer.write({ method: "configWarning", params: { summary: "A scripted warning.", details: null } });
    } else if (method === "account/read") {
      const requiresOpenaiAuth = this.#script.start === "logged_out";
      writer.respond(id, { account: null, requiresOpenaiAuth });
    } else if (method === "thread/start" || method === "thread/resume" || method === "thread/fork")
      await this.#open(id, method, params);
    else if (method === "turn/start") this.#begin(id, params);
    else if (method === "turn/interrupt") {
      if (this.#script.deaf?.includes("interrupt")) return;
      if (!this.#started) return writer.refuse(id, "no active turn to interrupt");
      this.#turn?.interrupt();
      writer.respond(id, {});
    } else if (method === "thread/backgroundTerminals/clean") {
      writer.respond(id, {});
      this.#turn?.cleanTerminals();
    } else writer.refuse(id, `Invalid request: unknown variant \`${method}\``);
  }

  async #open(id: unknown, method: string, params: Fields): Promise<void> {
    const writer = this.#writer;
    const known = method === "thread/start" ? undefined : String(params.threadId);
    if (known !== undefined && this.#script.forgetful)
      return writer.refuse(id, `no rollout found for thread id ${known}`);
    writer.thread = method === "thread/resume" && known !== undefined ? known : randomUUID();
    const config = params.config as { mcp_servers?: Record<string, CodexServerConfig> } | undefined;
    this.#servers = config?.mcp_servers ?? {};
    await this.#clients.connect(
      Object.fromEntries(
        Object.entries(this.#servers).map(([name, server]) => [
          name,
          {
            ...server,
            ...(server.http_headers && { headers: server.http_headers }),
            ...(server.tool_timeout_sec !== undefined && { timeout: server.tool_timeout_sec * 1_000 }),
          },
        ]),
      ),
    );
    for (const [name, error] of this.#clients.failures) {
      if (this.#servers[name]?.required) {
        const words = `required MCP servers failed to initialize: ${name}: handshaking with MCP server failed: ${error}`;
        return writer.refuse(id, `error creating thread: Fatal error: ${words}`, -32_603);
      }
    }
    for (const { name, status } of this.#clients.status) {
      const error = this.#clients.failures.get(name) ?? null;
      writer.notify("mcpServer/startupStatus/updated", {
        turnId: undefined,
        name,
        status: status === "failed" ? "failed" : "ready",
        error,
      });
    }
    writer.respond(id, { thread: { id: writer.thread, turns: [] }, model: "scripted" });
  }

  #begin(id: unknown, params: Fields): void {
    const writer = this.#writer;
    writer.turn = randomUUID();
    const input = params.input as readonly { text: string }[];
    const { turns } = this.#script;
    this.#turn = new ScriptedTurn({
      steps: turns[Math.min(this.#turns++, turns.length - 1)] ?? [],
      prompt: input.map(({ text }) => text).join("\n"),
      writer,
      clients: this.#clients,
      servers: this.#servers,
      paceMs: Number(process.env.TROUPE_PACE_MS ?? 0) || 0,
      trace: this.#trace,
    });
    const turn = { id: writer.turn, items: [], status: "inProgress", error: null };
    const work = () => {
      this.#started = true;
      writer.notify("turn/started", { turnId: undefined, turn });
      void this.#work(this.#turn);
    };
    const slow = this.#script.slowTurnMs ?? 0;
    if (slow > 0) setTimeout(work, slow);
    writer.respond(id, { turn });
    if (slow === 0) work();
  }

  async #work(turn: ScriptedTurn | undefined): Promise<void> {
    if (!turn) return;
    const end = await turn.run();
    this.#started = false;
    const { turn: id } = this.#writer;
    const completed = { id, items: [], status: end.status, error: end.error ?? null };
    this.#writer.notify("turn/completed", { turnId: undefined, turn: completed });
    await turn.late();
  }

  async #elicit(
    server: string,
    request: { message: string; mode: string; schema: unknown },
  ): ReturnType<Elicit> {
    const answer = await this.#writer.ask("mcpServer/elicitation/request", {
      serverName: server,
      mode: request.mode,
      message: request.message,
      requestedSchema: request.schema,
      _meta: null,
    });
    if (answer?.action !== "accept") return { action: answer?.action === "decline" ? "decline" : "cancel" };
    return { action: "accept", content: (answer.content ?? {}) as Record<string, string> };
  }

  /** The end of its input and SIGTERM are the same to it: it interrupts its turn, tells its servers and goes. */
  #leave(why: "eof" | "sigterm"): void {
    if (this.#script.deaf?.includes(why) || this.#ended) return;
    this.#ended = true;
    this.#turn?.interrupt();
    setTimeout(() => process.exit(0), FAREWELL_MS);
  }
}

main();
