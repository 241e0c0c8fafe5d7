import {
  type CallToolResult,
  fromJsonSchema,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  McpServer,
  type RegisteredTool,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Clock, Timer } from "../../core/clock.js";
import type { McpAnswer, McpCall, McpTool, McpToolset } from "./tool.js";

/** Options of a {@link RunServer}. */
export interface RunServerOptions {
  readonly clock: Clock;
  readonly instructions: string;
  readonly version: string;
  readonly onError: (error: Error) => void;
}

/** Claude Code drops a call that is silent for 300 s, others after 60; progress resets that. */
const PROGRESS_MS = 15_000;

/** Arguments are the tool's own matter: a bad call gets its error object instead of the SDK's text. */
const acceptAnything: jsonSchemaValidator = {
  getValidator:
    <T>(): JsonSchemaValidator<T> =>
    (data) => ({ valid: true, data: data as T, errorMessage: undefined }),
};
type Schema = ReturnType<typeof fromJsonSchema>;
const schemas = new WeakMap<object, Schema>();

/** Compiling a schema for each request costs milliseconds and memory that is never freed: one wrapper per schema object. */
function schemaOf(json: Record<string, unknown>): Schema {
  const known = schemas.get(json);
  if (known !== undefined) return known;
  const schema = fromJsonSchema(json, acceptAnything);
  schemas.set(json, schema);
  return schema;
}

/** Makes MCP servers that all serve the tools of one run. */
export class RunServer {
  readonly #tools = new WeakMap<McpServer, Map<string, RegisteredTool>>();
  readonly #openCalls = new Set<Promise<unknown>>();

  constructor(
    private readonly toolset: McpToolset,
    private readonly options: RunServerOptions,
  ) {}

  /** A server for one request of the modern era, or for one legacy session. */
  create(_era: "modern" | "legacy"): McpServer {
    const info = { name: "troupe", title: "Troupe", version: this.options.version };
    const server = new McpServer(info, {
      capabilities: { tools: { listChanged: true } },
      instructions: this.options.instructions,
    });
    server.server.onerror = this.options.onError;
    this.#tools.set(server, new Map());
    this.refresh(server);
    return server;
  }

  /** Registers what is new and removes what is gone; clients of a session are told. */
  refresh(server: McpServer): void {
    const registered = this.#tools.get(server) ?? new Map<string, RegisteredTool>();
    const wanted = new Map(this.toolset.tools().map((tool) => [tool.name, tool]));
    for (const [name, tool] of registered) {
      if (wanted.has(name)) continue;
      tool.remove();
      registered.delete(name);
    }
    for (const [name, tool] of wanted) {
      const known = registered.get(name);
      if (known === undefined) registered.set(name, this.#register(server, tool));
      else known.update({ description: tool.description, paramsSchema: schemaOf(tool.inputSchema) });
    }
  }

  /** Resolves when every call that came in has been answered. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#openCalls);
    // The answers are written a few promises later; a stream that is closed before that leaves its client waiting.
    await new Promise<void>((resolve) => setImmediate(resolve));
  }

  #register(
    server: McpServer,
    { name, inputSchema, outputSchema, title, description, annotations }: McpTool,
  ): RegisteredTool {
    const config = {
      title,
      description,
      annotations,
      inputSchema: schemaOf(inputSchema),
      ...(outputSchema === undefined ? {} : { outputSchema: schemaOf(outputSchema) }),
      // Otherwise Claude Code hides the tool behind a search.
      _meta: { "anthropic/alwaysLoad": true },
    };
    return server.registerTool(name, config, (input: unknown, context: ServerContext) => {
      const call = this.#call(name, input, context);
      this.#openCalls.add(call);
      void call.finally(() => this.#openCalls.delete(call)).catch(() => undefined);
      return call;
    });
  }

  async #call(tool: string, input: unknown, context: ServerContext): Promise<CallToolResult> {
    const meta: Record<string, unknown> = context.mcpReq._meta ?? {};
    const callId = meta["claudecode/toolUseId"] ?? meta.callId;
    const cancelled = new AbortController();
    let settled = false;
    // The signal also fires right after every answer in the modern era, so it counts only before.
    const onAbort = () => {
      if (!settled && isCancel(context.mcpReq.signal.reason)) cancelled.abort("client");
    };
    context.mcpReq.signal.addEventListener("abort", onAbort, { once: true });
    const call: McpCall = {
      tool,
      input,
      cancelled: cancelled.signal,
      ...(typeof callId === "string" ? { callId } : {}),
    };
    const beat = this.#beat(context, meta.progressToken, () => this.toolset.progress(call));
    try {
      return asToolResult(await this.toolset.call(call));
    } finally {
      settled = true;
      beat.cancel();
      context.mcpReq.signal.removeEventListener("abort", onAbort);
    }
  }

  /** Progress at once, which makes clients of 2025-06-18 able to resume, and then regularly. */
  #beat(context: ServerContext, progressToken: unknown, line: () => string): Timer {
    if (typeof progressToken !== "string" && typeof progressToken !== "number")
      return { cancel: () => undefined };
    let progress = 0;
    let timer: Timer;
    const beat = () => {
      timer = this.options.clock.timer(PROGRESS_MS, beat);
      const params = { progressToken, progress: ++progress, message: line().slice(0, 80) };
      // A client that went away is no error of ours.
      context.mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
    };
    beat();
    return { cancel: () => timer.cancel() };
  }
}

/** Whether an abort is the client's decision. A closed connection or its own time limit only means that it stopped waiting. */
function isCancel(reason: unknown): boolean {
  return !/connection closed|timed? ?out/i.test(String(reason instanceof Error ? reason.message : reason));
}

function asToolResult({ structured, isError, meta }: McpAnswer): CallToolResult {
  return {
    content: [{ type: "text", text: JSON.stringify(structured) }],
    structuredContent: structured,
    isError,
    ...(meta === undefined ? {} : { _meta: meta }),
  };
}
