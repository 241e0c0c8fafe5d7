// The no-op relay of a call: an MCP server over HTTP whose tool asks the remote, each with its SDK's defaults.
import { serve } from "@hono/node-server";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { sdkClient } from "./sdk-client.js";

const ask = await sdkClient(process.argv[2] ?? "");
const { fetch } = createMcpHandler(() => {
  const server = new McpServer({ name: "relay", version: "1" });
  const inputSchema = z.object({ agent: z.string(), objective: z.string() });
  server.registerTool("delegate_to_agent", { inputSchema }, async ({ objective }) => ({
    content: [{ type: "text", text: await ask(objective) }],
  }));
  return server;
});

serve({ fetch: (request) => fetch(request), port: 0, hostname: "127.0.0.1" }, ({ port }) =>
  process.send?.({ url: `http://127.0.0.1:${port}` }),
);
process.on("disconnect", () => process.exit());
