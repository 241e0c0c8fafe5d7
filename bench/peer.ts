import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Bridge, BUDGET_MS } from "./bridge.js";
import { callTool } from "./tool-calls.js";

const NAME = "a2a-mcp-skillmap";
const VERSION = "0.2.1";

/** Installs the peer (once, into a temporary folder), and starts it in front of a remote, on stdio: its HTTP mode answers once only. */
export async function startPeer(remote: string): Promise<Bridge> {
  const folder = join(tmpdir(), `troupe-bench-${NAME}-${VERSION}`);
  const program = join(folder, "node_modules", NAME, "dist/cli/index.js");
  if (!existsSync(program)) {
    execFileSync(
      "npm",
      ["install", "--prefix", folder, "--no-save", "--loglevel=error", `${NAME}@${VERSION}`],
      {
        stdio: "ignore",
      },
    );
  }
  const client = new Client({ name: "bench", version: "1" });
  const args = [
    program,
    "--a2a-url",
    remote,
    "--transport",
    "stdio",
    "--log-level",
    "error",
    "--sync-budget-ms",
    String(BUDGET_MS),
  ];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }));
  const tool = (await client.listTools()).tools.find(({ name }) => name.includes("__"));
  if (tool === undefined) throw new Error(`${NAME} offers no skill`);
  const call = (task: object) => callTool(client, tool.name, { message: JSON.stringify(task) });
  return {
    name: `${NAME} ${VERSION}`,
    call,
    async callAndAsk(task) {
      const [, taskId] = /taskId "([^"]+)"/.exec(await call(task)) ?? [];
      for (;;) {
        const text = await callTool(client, "task_result", { taskId });
        if (!text.includes("still running")) return text;
      }
    },
    stop: () => client.close(),
  };
}
