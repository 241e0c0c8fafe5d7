import { resolve } from "node:path";
import { PassThrough } from "node:stream";
import { ConfigError } from "../config/config-error.js";
import { findConfig, loadConfig } from "../config/load.js";
import { TroupeError } from "../core/errors.js";
import { findWorkspaceHost } from "../host/workspace-host-file.js";
import { ensureWorkspaceToken } from "../host/workspace-token.js";
import { startBackgroundHost } from "./bridge/background-host.js";
import { workspaceOf, writeBridgeFile } from "./bridge/bridge-file.js";
import { joinHost } from "./bridge/join-host.js";
import { EXIT } from "./exit-code.js";
import { warnOfUnreachable } from "./serving.js";

/** Options of `troupe mcp`. */
export interface McpOptions {
  readonly config?: string;
  /** Without a host: what the client has begun ends with it. */
  readonly standalone?: boolean;
}

/**
 * `troupe mcp`: gives the sub-agents of a config to an MCP client, on standard input and output, through the workspace's host, which
 * is started if none runs. Ends when the client does; what still runs goes on under the host, as its policy says.
 */
export async function mcpCommand({ config: named, standalone = false }: McpOptions): Promise<number> {
  const file = configFile(named);
  const problem = await writeBridgeFile(file).catch(() => undefined);
  if (problem !== undefined) console.error(`troupe: ${problem}`);
  return standalone ? serveAlone(file) : bridge(file);
}

/** The config of `--config`, or of this folder. @throws ConfigError when there is none. */
export function configFile(named: string | undefined): string {
  const file = named ?? findConfig(process.cwd());
  if (file !== undefined) return resolve(file);
  throw new ConfigError(
    "There is no troupe.config.json here. `troupe init` writes one; --config names another.",
  );
}

/** Bytes of the client that wait for the host. */
const MAX_WAITING = 16 * 1_048_576;

async function bridge(file: string): Promise<number> {
  const workspace = workspaceOf(file);
  const gone = new AbortController();
  const input = new PassThrough({ highWaterMark: MAX_WAITING });
  const leave = () => gone.abort();
  // The end of standard input is seen only while it is read.
  process.stdin.pipe(input);
  for (const event of ["end", "close", "error"]) process.stdin.once(event, leave);
  process.stdout.once("error", leave);
  try {
    const token = ensureWorkspaceToken(workspace);
    const { signal } = gone;
    const join = async () => {
      const host =
        (await findWorkspaceHost(workspace, { token, signal })) ?? (await started(file, token, signal));
      if (host === undefined || signal.aborted) return true;
      return joinHost(host, { input, output: process.stdout, token, signal });
    };
    // One that is about to end for want of work may be found, and not be there any more.
    const isUnreachable = (error: unknown) =>
      error instanceof TroupeError && error.code === "host_unreachable";
    const left = await join().catch((error: unknown) => {
      if (isUnreachable(error)) return join();
      throw error;
    });
    if (left) return EXIT.done;
    throw new TroupeError("host_closed", "The workspace's host has ended. Start the client's server again.");
  } finally {
    process.stdin.unpipe(input);
    process.stdin.destroy();
  }
}

async function started(config: string, token: string, signal: AbortSignal) {
  if (signal.aborted) return undefined;
  // What is wrong with it is better said here than in a log.
  const loaded = await loadConfig(config, process.env);
  if ((loaded.config.subAgents?.agents ?? []).length === 0)
    throw new ConfigError(`${config}: subAgents: there are none to give to an MCP client.`);
  return startBackgroundHost(workspaceOf(config), { config, token, signal });
}

async function serveAlone(file: string): Promise<number> {
  // Whoever joins the workspace's host does without one, and is there sooner.
  const { createConfiguredHost } = await import("./config-host.js");
  const loaded = await loadConfig(file, process.env);
  const toolset = loaded.config.subAgents?.options?.toolset ?? "skills";
  const host = await createConfiguredHost(loaded, { toolset });
  try {
    // The client's first question is which tools there are, and a skill is known only from its card.
    warnOfUnreachable(await host.probe());
    await host.serveMcp({ input: process.stdin, output: process.stdout });
    return EXIT.done;
  } finally {
    await host.close();
  }
}
