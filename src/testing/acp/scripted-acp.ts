#!/usr/bin/env node
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import {
  type AnyMessage,
  agent,
  type InitializeResponse,
  type McpServer,
  methods,
  type NewSessionResponse,
  RequestError,
} from "@agentclientprotocol/sdk";
import { type ServerConfig, ToolClients } from "../program/tool-clients.js";
import { createTrace, type Trace } from "../program/trace.js";
import { type AcpScript, parseAcpScript } from "./script.js";
import { ScriptedTurn } from "./scripted-turn.js";

/**
 * An agent on the protocol's own SDK that calls its MCP servers for real, but says what a script tells it to. Variables:
 * - `TROUPE_SCRIPT` (a file) or `TROUPE_SCRIPT_JSON`: the script, see `AcpScript`; default: delegate the prompt to `research`;
 * - `TROUPE_PACE_MS`: milliseconds between two words;
 * - `TROUPE_TRACE`: a file that gets a JSON line for everything received.
 */
const VERSION = "1.0.0";
const CALL_TIMEOUT_MS = 600_000;
/** What a cancelled program still does before it exits: its MCP clients tell their servers. */
const FAREWELL_MS = 50;
/** How often it looks whether its parent was killed. */
const PARENT_CHECK_MS = 500;

function main(): void {
  const args = process.argv.slice(2);
  const { TROUPE_SCRIPT: file, TROUPE_SCRIPT_JSON: json, TROUPE_TRACE: trace } = process.env;
  const script = parseAcpScript(file ? readFileSync(file, "utf8") : json);
  if (script.start === "unknown_option") {
    console.error("error: unknown option '--acp'");
    process.exit(1);
  }
  new ScriptedAcp(script, createTrace(trace)).start(args);
}

class ScriptedAcp {
  readonly #script: AcpScript;
  readonly #trace: Trace;
  readonly #clients: ToolClients;
  #turns = 0;
  #turn: ScriptedTurn | undefined;
  #ended = false;

  constructor(script: AcpScript, trace: Trace) {
    this.#script = script;
    this.#trace = trace;
    this.#clients = new ToolClients({
      elicit: async () => ({ action: "decline" }),
      client: { name: "scripted-acp", version: VERSION },
      capabilities: { roots: { listChanged: true } },
      legacy: true,
      timeoutMs: CALL_TIMEOUT_MS,
      // Agents of this protocol send no id of the call.
      meta: () => ({}),
    });
  }

  start(args: readonly string[]): void {
    this.#trace({ argv: args, env: Object.keys(process.env).sort(), cwd: process.cwd(), pid: process.pid });
    process.on("SIGTERM", () => this.#leave("sigterm"));
    const readable = new ReadableStream<AnyMessage>({
      start: (controller) => {
        const input = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
        input.on("line", (line) => {
          if (line.trim() === "") return;
          const message = JSON.parse(line) as AnyMessage;
          this.#trace({ stdin: message });
          controller.enqueue(message);
        });
        input.on("close", () => this.#leave("eof"));
      },
    });
    // Pipes are written synchronously on POSIX, so nothing is lost by an exit.
    const writable = new WritableStream<AnyMessage>({
      write: (message) => void process.stdout.write(`${JSON.stringify(message)}\n`),
    });
    this.#app().connect({ readable, writable });
    // A turn that hangs must not let the process end because nothing else is going on, and must not outlive whoever started it.
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) process.exit(1);
    }, PARENT_CHECK_MS);
  }

  #app() {
    const { session } = methods.agent;
    return agent({ name: "scripted" })
      .onRequest(methods.agent.initialize, () =>
        this.#script.start === "silent" ? new Promise<never>(() => {}) : this.#initialized(),
      )
      .onRequest(methods.agent.authenticate, () => ({}))
      .onRequest(session.new, async ({ params }) => {
        if (this.#script.start === "logged_out") throw RequestError.authRequired();
        return this.#opened(randomUUID(), params.mcpServers);
      })
      .onRequest(session.load, async ({ params, client }) => {
        this.#find(params.sessionId);
        for (const [sessionUpdate, text] of [
          ["user_message_chunk", "An old question."],
          ["agent_message_chunk", "An old answer."],
        ] as const) {
          const update = { sessionUpdate, content: { type: "text" as const, text } };
          await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
        }
        return this.#opened(params.sessionId, params.mcpServers);
      })
      .onRequest(session.resume, async ({ params }) => {
        this.#find(params.sessionId);
        return this.#opened(params.sessionId, params.mcpServers ?? []);
      })
      .onRequest(session.setMode, () => ({}))
      .onRequest(
        "session/set_model",
        (params: unknown) => params,
        () => ({}),
      )
      .onRequest(session.setConfigOption, () => ({ configOptions: [] }))
      .onRequest(session.prompt, async ({ params, client }) => {
        const { turns } = this.#script;
        this.#turn = new ScriptedTurn({
          steps: turns[Math.min(this.#turns++, turns.length - 1)] ?? [],
          prompt: params.prompt.map((block) => (block.type === "text" ? block.text : "")).join("\n"),
          sessionId: params.sessionId,
          script: this.#script,
          client,
          clients: this.#clients,
          paceMs: Number(process.env.TROUPE_PACE_MS ?? 0) || 0,
          trace: this.#trace,
        });
        return this.#turn.run();
      })
      .onNotification(session.cancel, () => {
        if (!this.#script.deaf?.includes("cancel")) this.#turn?.cancel();
      });
  }

  #initialized(): InitializeResponse {
    const { protocolVersion = 1, mcpHttp = true, sessions = "load", agent: name = "scripted" } = this.#script;
    return {
      protocolVersion,
      agentInfo: { name, version: VERSION },
      authMethods: [{ id: "api-key", name: "API key" }],
      agentCapabilities: {
        loadSession: sessions === "load",
        mcpCapabilities: { http: mcpHttp, sse: false },
        ...(sessions === "resume" && { sessionCapabilities: { resume: {} } }),
      },
    };
  }

  async #opened(sessionId: string, servers: readonly McpServer[]): Promise<NewSessionResponse> {
    if (!this.#script.ignoresServers)
      await this.#clients.connect(
        Object.fromEntries(servers.map((server) => [server.name, configOf(server)])),
      );
    const { modes, models, options } = this.#script;
    const select = (category: string, values: readonly string[]) => ({
      type: "select" as const,
      id: `${category}-option`,
      name: category,
      category,
      currentValue: values[0] ?? "",
      options: values.map((value) => ({ value, name: value })),
    });
    if (options)
      return { sessionId, configOptions: [select("mode", modes ?? []), select("model", models ?? [])] };
    return {
      sessionId,
      ...(modes && {
        modes: { currentModeId: modes[0] ?? "", availableModes: modes.map((id) => ({ id, name: id })) },
      }),
      ...(models && { models: { availableModels: models.map((modelId) => ({ modelId, name: modelId })) } }),
    };
  }

  #find(sessionId: string): void {
    if (this.#script.forgetful) throw new RequestError(-32_002, `Session not found: ${sessionId}`);
  }

  /** The end of its input and SIGTERM are the same to it: it cancels its turn, tells its servers and goes. */
  #leave(why: "eof" | "sigterm"): void {
    if (this.#script.deaf?.includes(why) || this.#ended) return;
    this.#ended = true;
    this.#turn?.cancel();
    setTimeout(() => process.exit(0), FAREWELL_MS);
  }
}

function configOf(server: McpServer): ServerConfig {
  if ("type" in server)
    return {
      url: server.url,
      headers: Object.fromEntries(server.headers.map(({ name, value }) => [name, value])),
    };
  const env = Object.fromEntries(server.env.map(({ name, value }) => [name, value]));
  return { command: server.command, args: server.args, env };
}

main();
