import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { WorkspaceHost } from "../../src/host/workspace-host-file.js";
import type { Remote } from "./remote.js";
import { type Command, type Folder, isAlive, isGone, makeFolder, troupe } from "./troupe.js";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** The credential of the remote in {@link makeWorkspace}. */
export const REMOTE_TOKEN = "tok-9876543210";

/** A folder with a config whose only sub-agent is `research`. */
export async function makeWorkspace(
  remote: Remote,
  options: object = {},
  more: object = {},
): Promise<Folder> {
  const folder = await makeFolder();
  const auth = { mode: "bearer", token: "${RESEARCH_TOKEN}" };
  const agents = [{ name: "research", agentCardUrl: remote.cardUrl, auth }];
  const config = { subAgents: { agents, options }, serve: { port: 0 }, ...more };
  await folder.write("troupe.config.json", JSON.stringify(config));
  return folder;
}

/** An MCP client with its own `troupe mcp`, as a CLI has it. */
export interface Bridge extends AsyncDisposable {
  readonly client: Client;
  readonly pid: number;
  /** The client is killed, or restarts its server: no goodbye. */
  kill(): Promise<void>;
  call(name: string, input: Record<string, unknown>): Promise<Record<string, unknown>>;
}

/** Connects a client of the SDK with `troupe mcp` in a folder. */
export async function connectBridge(
  folder: Folder,
  mode: "auto" | "legacy" = "auto",
  {
    args = [],
    env = { RESEARCH_TOKEN: REMOTE_TOKEN },
  }: { args?: string[]; env?: Record<string, string> } = {},
): Promise<Bridge> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, "mcp", ...args],
    cwd: folder.path,
    env: { PATH: process.env.PATH ?? "", HOME: folder.path, ...env },
    stderr: "pipe",
  });
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  const { pid } = transport;
  if (pid === null) throw new Error("troupe mcp has ended");
  return {
    client,
    pid,
    async kill() {
      process.kill(pid, "SIGKILL");
      await isGone(pid);
    },
    async call(name, input) {
      const { structuredContent } = await client.callTool({ name, arguments: input });
      return structuredContent as Record<string, unknown>;
    },
    async [Symbol.asyncDispose]() {
      await client.close().catch(() => undefined);
      if (isAlive(pid)) process.kill(pid, "SIGKILL");
    },
  };
}

/** Starts `troupe mcp` without a client, and waits until its host has answered. */
export async function bareBridge(folder: Folder): Promise<Command> {
  const command = troupe(["mcp"], { cwd: folder.path });
  const params = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "bare", version: "1" },
  };
  command.child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
  await command.says('"id":1');
  return command;
}

/** What the workspace's file says of its host. */
export function hostOf(folder: Folder): WorkspaceHost {
  return JSON.parse(readFileSync(join(folder.path, ".troupe", "host.json"), "utf8"));
}

/** The workspace's token. */
export function tokenOf(folder: Folder): string {
  return readFileSync(join(folder.path, ".troupe", "token"), "utf8").trim();
}

/** Starts a host for the workspace, as `troupe mcp` does, but in the foreground. */
export async function serveWorkspace(folder: Folder, ...args: string[]): Promise<Command> {
  const command = troupe(["serve", "--background", "--json", ...args], {
    cwd: folder.path,
    env: { RESEARCH_TOKEN: REMOTE_TOKEN },
  });
  await command.says("}\n");
  return command;
}

/** Ends a host that was started in the background. */
export async function endHost(folder: Folder): Promise<void> {
  const { pid } = hostOf(folder);
  process.kill(pid, "SIGTERM");
  await isGone(pid);
}

/** The threads that the workspace's host lists. */
export async function threadsOf(folder: Folder): Promise<{ threadId: string; run: { status: string } }[]> {
  const response = await fetch(`${hostOf(folder).url}/threads`);
  return ((await response.json()) as { threads: { threadId: string; run: { status: string } }[] }).threads;
}
