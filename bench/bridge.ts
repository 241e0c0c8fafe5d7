import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { callTool } from "./tool-calls.js";

const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

/** How long a call may take until it is answered with a handle, in milliseconds. */
export const BUDGET_MS = 3_000;

/** A bridge from MCP on stdio to a remote. */
export interface Bridge {
  readonly name: string;
  /** Delegates a task and resolves with the result's text. */
  call(task: object): Promise<string>;
  /** The same with a task that takes longer than a call may: by its handle. */
  callAndAsk(task: object): Promise<string>;
  stop(): Promise<void>;
}

/** Starts `troupe mcp` in front of a remote, in its own process. */
export async function startBridge(remote: string): Promise<Bridge> {
  const file = join(mkdtempSync(join(tmpdir(), "troupe-bench-")), "troupe.config.json");
  const policy = { maxConcurrentPerRun: 1_000, maxConcurrentPerHost: 1_000 };
  const agents = [{ name: "bench", agentCardUrl: remote }];
  writeFileSync(
    file,
    JSON.stringify({ subAgents: { agents, options: { policy, syncBudgetMs: BUDGET_MS } } }),
  );
  const client = new Client({ name: "bench", version: "1" });
  // In one process, as the other bridge is: a workspace's host would be another one, with a journal on disk.
  const args = [MAIN, "mcp", "--standalone", "--config", file];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }));
  const tool = (await client.listTools()).tools.find(({ name }) => name.includes("__"));
  if (tool === undefined) throw new Error("troupe mcp offers no skill");
  const call = (task: object) => callTool(client, tool.name, { message: JSON.stringify(task) });
  return {
    name: "troupe mcp",
    call,
    async callAndAsk(task) {
      const { delegation_id } = JSON.parse(await call(task));
      return callTool(client, "task_result", { delegation_id, wait_seconds: 60 });
    },
    stop: () => client.close(),
  };
}
