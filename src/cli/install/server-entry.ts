import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CONFIG_NAMES, examineConfig } from "../../config/load.js";
import { DEFAULT_POLICY } from "../../delegation/policy.js";
import { MCP_SERVER_NAME } from "../../delegation/server-name.js";

/** What the server is called inside a client. */
export const SERVER_NAME = MCP_SERVER_NAME;

/** How a client starts `troupe mcp`. */
export interface ServerEntry {
  readonly command: string;
  /** What comes before the config. */
  readonly args: readonly string[];
  /** The config's absolute path. */
  readonly config: string;
  /** It is the one that is found in the workspace's folder. */
  readonly isDefault: boolean;
  /** Names of the variables that the config refers to. */
  readonly variables: readonly string[];
  /** How long a call may take, in milliseconds: a minute more than any delegation, so that the host's deadline comes first. */
  readonly timeoutMs: number;
}

const MARGIN_MS = 60_000;

/**
 * Describes the server for a config. Nothing of it is a credential.
 * @param folder where the client works.
 * @throws ConfigError when the config cannot be read.
 */
export async function serverEntry(config: string, folder: string): Promise<ServerEntry> {
  const { loaded, variables, missing } = await examineConfig(config, process.env);
  const { agents = [], options } = loaded?.config.subAgents ?? {};
  const longest = [options?.policy, ...agents.map(({ policy }) => policy)].map(
    (policy) => policy?.maxTimeoutMs ?? DEFAULT_POLICY.maxTimeoutMs,
  );
  const first = CONFIG_NAMES.map((name) => join(folder, name)).find(existsSync);
  return {
    ...program(folder),
    config,
    isDefault: first === config,
    variables: [...new Set([...variables, ...missing.map(({ name }) => name)])].sort(),
    timeoutMs: Math.max(...longest) + MARGIN_MS,
  };
}

/** The package that the folder has, by its name; else this very one, by its path. */
function program(folder: string): Pick<ServerEntry, "command" | "args"> {
  for (let place = folder; ; place = dirname(place)) {
    if (existsSync(join(place, "node_modules", ".bin", "troupe")))
      return { command: "npx", args: ["troupe", "mcp"] };
    if (dirname(place) === place) break;
  }
  const main = fileURLToPath(new URL("../main.js", import.meta.url));
  return { command: process.execPath, args: [main, "mcp"] };
}
