import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { callTool } from "./tool-calls.js";

const MAIN = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

/** `troupe mcp` in front of a remote: what another bridge on stdio is compared with. */
export interface Bridge {
  call(task: object): Promise<string>;
  stop(): Promise<void>;
}

/** Starts a {@link Bridge} in its own process. */
export async function startBridge(remote: string): Promise<Bridge> {
  const file = join(mkdtempSync(join(tmpdir(), "troupe-bench-")), "troupe.config.json");
  const policy = { maxConcurrentPerRun: 1_000, maxConcurrentPerHost: 1_000 };
  const agents = [{ name: "bench", agentCardUrl: remote }];
  writeFileSync(file, JSON.stringify({ subAgents: { agents, options: { policy } } }));
  const client = new Client({ name: "bench", version: "1" });
  // In one process, as the other bridge is: a workspace's host would be another one, with a journal on disk.
  const args = [MAIN, "mcp", "--standalone", "--config", file];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }));
  const tool = (await client.listTools()).tools.find(({ name }) => name.includes("__"));
  if (tool === undefined) throw new Error("troupe mcp offers no skill");
  return {
    call: (task) => callTool(client, tool.name, { message: JSON.stringify(task) }),
    stop: () => client.close(),
  };
}
