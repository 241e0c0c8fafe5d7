import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import {
  type CallToolResult,
  createMcpHandler,
  fromJsonSchema,
  type InputRequiredResult,
  McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";

/** A call that a {@link ToolServer} got. */
export interface ToolServerCall {
  readonly tool: string;
  readonly input: unknown;
  /** `_meta` of the request. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** `undefined` while the call is open; then whether its caller went away before it was answered. */
  aborted?: boolean;
}

/** A tool of a {@link ToolServer}. */
export interface ToolServerTool {
  /** Lets the program run several calls at once. */
  readonly readOnly?: boolean;
  call(
    input: unknown,
    context: ServerContext,
  ): Promise<CallToolResult | InputRequiredResult> | CallToolResult | InputRequiredResult;
}

/** A small MCP server on loopback, for tests of programs that call tools. */
export interface ToolServer {
  readonly url: string;
  readonly calls: readonly ToolServerCall[];
  /** Resolves when `count` calls have arrived. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

const ANYTHING = fromJsonSchema(
  { type: "object" },
  { getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }) },
);

/** Starts a {@link ToolServer}. With a `token`, a request without it as bearer is answered 401. */
export async function startToolServer(options: {
  readonly tools: Readonly<Record<string, ToolServerTool>>;
  readonly token?: string;
}): Promise<ToolServer> {
  const calls: ToolServerCall[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const handler = createMcpHandler(
    () => {
      const mcp = new McpServer({ name: "tools", version: "1.0.0" });
      for (const [name, tool] of Object.entries(options.tools)) {
        mcp.registerTool(
          name,
          { description: name, inputSchema: ANYTHING, annotations: { readOnlyHint: tool.readOnly === true } },
          async (input, context) => {
            const call: ToolServerCall = { tool: name, input, meta: { ...context.mcpReq._meta } };
            calls.push(call);
            for (const waiter of waiting) if (calls.length >= waiter.count) waiter.resolve();
            // The signal fires after every answer, too, so only what comes before it counts.
            context.mcpReq.signal.addEventListener("abort", () => {
              call.aborted ??= true;
            });
            const result = await tool.call(input, context);
            call.aborted ??= false;
            return result;
          },
        );
      }
      return mcp;
    },
    { responseMode: "sse" },
  );
  const server = createServer(
    getRequestListener((request) => {
      if (options.token !== undefined && request.headers.get("authorization") !== `Bearer ${options.token}`) {
        return new Response("unauthorised", { status: 401 });
      }
      return handler.fetch(request);
    }),
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    calls,
    received: (count) =>
      new Promise((resolve) => {
        if (calls.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    close: async () => {
      await handler.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}
