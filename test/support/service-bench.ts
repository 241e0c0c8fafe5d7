import type { Client, ElicitResult } from "@modelcontextprotocol/client";
import {
  createDelegationService,
  type DelegationServiceOptions,
} from "../../src/bridges/mcp/delegation-service.js";
import { McpEndpoint } from "../../src/bridges/mcp/endpoint.js";
import { createToken } from "../../src/core/ids.js";
import type { RunAttachment } from "../../src/core/run-service.js";
import type { DelegationPolicy } from "../../src/delegation/policy.js";
import type { RemoteInput } from "../../src/delegation/remote.js";
import { readSse } from "../../src/wire/sse-reader.js";
import { DelegationBench } from "./delegations.js";
import { connectTo, type Era, type ShownForm } from "./mcp-bench.js";

/** What a raw client declares with each request of the modern era. */
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
};

/** One run's tools over a fake remote, behind the endpoint, without a port and without time. */
export class ServiceBench {
  /** What the remote was answered. */
  readonly answers: RemoteInput[] = [];
  #requests = 0;

  private constructor(
    readonly bench: DelegationBench,
    readonly endpoint: McpEndpoint,
    readonly token: string,
    readonly attachment: RunAttachment,
  ) {
    bench.remote.answer = async (_reference, input) => void this.answers.push(input);
  }

  static async open(
    policy: Partial<DelegationPolicy> = {},
    options: Partial<DelegationServiceOptions> = {},
  ): Promise<ServiceBench> {
    const bench = new DelegationBench(policy);
    const endpoint = new McpEndpoint({ clock: bench.clock, instructions: "", version: "1" });
    const { delegator, registry } = bench;
    const url = "http://127.0.0.1:4000/mcp";
    const service = createDelegationService({ delegator, registry, endpoint, url, ...options });
    const token = createToken();
    const run = { runId: "run-1", token, agent: "claude", thread: "/t", workspace: "/" };
    return new ServiceBench(bench, endpoint, token, await service.attach(run));
  }

  /** A client whose person answers forms with `elicit`. */
  connect(era: Era, elicit?: (form: ShownForm) => ElicitResult | Promise<ElicitResult>): Promise<Client> {
    return connectTo(this.endpoint, era, this.token, elicit);
  }

  /** The arguments of `callTool`. */
  call(objective = "Find out", callId?: string) {
    return {
      name: "delegate_to_agent",
      arguments: { agent: "research", objective },
      ...(callId === undefined ? {} : { _meta: { "claudecode/toolUseId": callId } }),
    };
  }

  /** Lets everything react until the remote has got so many tasks. */
  async started(tasks = 1): Promise<void> {
    while (this.bench.remote.tasks.length < tasks) await this.bench.clock.advance(0);
    await this.bench.clock.advance(0);
  }

  /** The remote takes its task and asks. */
  async asks(prompt: string, schema?: unknown): Promise<void> {
    const { task, clock } = this.bench;
    task.send({ type: "accepted", taskId: "task-1" });
    task.send({ type: "input_required", prompt, ...(schema === undefined ? {} : { schema }) });
    await clock.advance(0);
  }

  async completes(message = "42"): Promise<void> {
    this.bench.task.send({ type: "accepted", taskId: "task-1" }, { type: "completed", message });
    await this.bench.clock.advance(0);
  }

  /** One request of the modern era, written by hand. @returns the message that answers it. */
  async raw(
    method: string,
    params: Record<string, unknown> = {},
    { capabilities = {}, meta = {} }: RawOptions = {},
  ): Promise<RawAnswer> {
    const response = await this.post(method, params, { capabilities, meta });
    if (response.body === null) throw new Error(`${method}: ${response.status} without a body`);
    for await (const { data } of readSse(response.body)) {
      const message = data === "" ? {} : (JSON.parse(data) as RawAnswer);
      if ("result" in message || "error" in message) return message;
    }
    throw new Error(`${method}: the stream ended without an answer`);
  }

  /** A session of the legacy era, written by hand. */
  async session(capabilities: Record<string, unknown> = {}): Promise<LegacySession> {
    const params = {
      protocolVersion: "2025-06-18",
      capabilities,
      clientInfo: { name: "raw", version: "1" },
    };
    const opened = await this.#legacy({ jsonrpc: "2.0", id: 0, method: "initialize", params });
    const headers = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    await opened.text();
    const send = (body: Record<string, unknown>) => this.#legacy({ jsonrpc: "2.0", ...body }, headers);
    await send({ method: "notifications/initialized" });
    return { send };
  }

  #legacy(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const request = new Request("http://127.0.0.1:4000/mcp", {
      method: "POST",
      headers: {
        host: "127.0.0.1:4000",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${this.token}`,
        ...headers,
      },
      body: JSON.stringify(body),
    });
    return this.endpoint.fetch(request);
  }

  /** A modern request with its response as it is. */
  post(
    method: string,
    params: Record<string, unknown>,
    { capabilities = {}, meta = {} }: RawOptions = {},
  ): Promise<Response> {
    const _meta = { ...META, "io.modelcontextprotocol/clientCapabilities": capabilities, ...meta };
    const name = String(params.taskId ?? params.name ?? "");
    const body = { jsonrpc: "2.0", id: ++this.#requests, method, params: { ...params, _meta } };
    const request = new Request("http://127.0.0.1:4000/mcp", {
      method: "POST",
      headers: {
        host: "127.0.0.1:4000",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${this.token}`,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...(name === "" ? {} : { "mcp-name": name }),
      },
      body: JSON.stringify(body),
    });
    return this.endpoint.fetch(request);
  }
}

/** A session whose requests are written by hand. */
export interface LegacySession {
  /** Sends one message; `jsonrpc` is added. */
  send(body: Record<string, unknown>): Promise<Response>;
}

/** What goes with a raw request. */
export interface RawOptions {
  readonly capabilities?: Record<string, unknown>;
  readonly meta?: Record<string, unknown>;
}

/** A JSON-RPC answer. */
export interface RawAnswer {
  readonly result?: Record<string, unknown> & { readonly structuredContent?: Record<string, unknown> };
  readonly error?: { readonly code: number; readonly message: string };
}
