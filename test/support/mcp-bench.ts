import { Client, type ElicitResult, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { McpEndpoint } from "../../src/bridges/mcp/endpoint.js";
import type { McpAnswer, McpCall, McpTool, McpToolset } from "../../src/bridges/mcp/tool.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { deferred } from "./deferred.js";

/** The era that a client speaks. */
export type Era = "modern" | "legacy";

/** A tool whose calls a test answers. */
export const TOOL: McpTool = {
  name: "delegate_to_agent",
  title: "Delegate",
  description: "Delegates.",
  inputSchema: { type: "object", properties: { objective: { type: "string" } }, additionalProperties: false },
  outputSchema: { type: "object", properties: { status: { type: "string" } }, required: ["status"] },
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: true },
};

/** One call that came in. */
export interface PendingCall extends McpCall {
  answer(answer: McpAnswer): void;
}

/** What a client shows to its person. */
export interface ShownForm {
  readonly message: string;
  readonly requestedSchema?: unknown;
}

/**
 * A client of an era, connected to an endpoint without a port.
 * @param elicit its person; without one the client declares no elicitation.
 */
export async function connectTo(
  endpoint: McpEndpoint,
  era: Era,
  token: string,
  elicit?: (form: ShownForm) => ElicitResult | Promise<ElicitResult>,
): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL("http://127.0.0.1:4000/mcp"), {
    requestInit: { headers: { authorization: `Bearer ${token}`, host: "127.0.0.1:4000" } },
    fetch: (url, init) => endpoint.fetch(new Request(url, init)),
  });
  const options = era === "modern" ? { versionNegotiation: { mode: "auto" as const } } : {};
  const capabilities = elicit === undefined ? {} : { capabilities: { elicitation: { form: {} } } };
  const client = new Client({ name: "test", version: "1" }, { ...options, ...capabilities });
  if (elicit !== undefined)
    client.setRequestHandler("elicitation/create", ({ params }) => elicit(params as ShownForm));
  await client.connect(transport);
  return client;
}

/** An endpoint with one run, reached without a port. */
export class McpBench {
  readonly clock = new ManualClock();
  readonly errors: Error[] = [];
  readonly endpoint = new McpEndpoint({
    clock: this.clock,
    instructions: "Use it well.",
    version: "1.0.0",
    onError: (error) => this.errors.push(error),
  });
  readonly calls: PendingCall[] = [];
  readonly token = "token-of-run-1-0123456789abcdef0123456789abcdef";
  tools: McpTool[] = [TOOL];
  line = "research: working";
  readonly access = this.endpoint.addRun(this.token, this.toolset());

  /** Answers with what `answer` says, or when a test does so. */
  toolset(answer?: (call: McpCall) => McpAnswer): McpToolset {
    return {
      tools: () => this.tools,
      call: (call) => {
        if (answer !== undefined) return Promise.resolve(answer(call));
        const pending = deferred<McpAnswer>();
        this.calls.push({ ...call, answer: pending.resolve });
        return pending.promise;
      },
      progress: () => this.line,
    };
  }

  /** A request as a CLI sends it. */
  request(init: RequestInit & { readonly token?: string | undefined } = {}): Request {
    const { token = this.token, ...rest } = init;
    return new Request("http://127.0.0.1:4000/mcp", {
      method: "POST",
      ...rest,
      headers: {
        host: "127.0.0.1:4000",
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${token}`,
        ...(rest.headers as Record<string, string> | undefined),
      },
    });
  }

  post(body: unknown, headers: Record<string, string> = {}, token = this.token): Promise<Response> {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return this.endpoint.fetch(this.request({ body: text, headers, token }));
  }

  /** A client of that era, connected. */
  connect(era: Era, token = this.token): Promise<Client> {
    return connectTo(this.endpoint, era, token);
  }

  /** Waits for the call with this number to come in. */
  async call(index = 0): Promise<PendingCall> {
    for (let turn = 0; turn < 1_000; turn++) {
      const call = this.calls[index];
      if (call !== undefined) return call;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    throw new Error(`Call ${index} never came in.`);
  }
}
