import { ConfigError } from "../config/config-error.js";
import { findConfig, loadConfig } from "../config/load.js";
import { createConfiguredHost } from "./config-host.js";
import { EXIT } from "./exit-code.js";
import { warnOfUnreachable } from "./serving.js";

/** Options of `troupe mcp`. */
export interface McpOptions {
  readonly config?: string;
}

/**
 * `troupe mcp`: gives the sub-agents of a config to an MCP client, on standard input and output. Ends when the client does; what
 * still runs is cancelled, unless its policy says otherwise.
 */
export async function mcpCommand({ config: named }: McpOptions): Promise<number> {
  const file = named ?? findConfig(process.cwd());
  if (file === undefined)
    throw new ConfigError(
      "There is no troupe.config.json here. `troupe init` writes one; --config names another.",
    );
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
