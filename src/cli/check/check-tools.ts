import { ToolCatalog } from "../../bridges/mcp/tool-catalog.js";
import type { Config } from "../../config/schema.js";
import type { ConfiguredSubAgent } from "../../config/sub-agent-schema.js";
import type { Clock } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import { TroupeError } from "../../core/errors.js";
import { RemoteRegistry } from "../../delegation/registry.js";
import type { RemoteAgent } from "../../delegation/remote.js";
import type { LocalHost } from "../../remotes/local/local-host.js";
import { configuredRemote } from "../config-remotes.js";
import { oneLine } from "../tree/render.js";
import type { SeenTool } from "./finding.js";

/** Columns of a tool's description that are shown. */
const MAX_WORDS = 70;

/**
 * The tools that the model of a local agent gets, or that of an MCP client where there is none, as the remotes' cards are now.
 * @param entries the sub-agents that may be asked.
 */
export async function seenTools(
  config: Config,
  entries: readonly ConfiguredSubAgent[],
  { timeoutMs, clock }: { readonly timeoutMs: number; readonly clock: Clock },
): Promise<SeenTool[]> {
  if (entries.length === 0) return [];
  const policy = config.subAgents?.options?.policy ?? {};
  const registry = new RemoteRegistry(
    entries.flatMap((entry) => {
      const remote = remoteOf(entry, config);
      return remote === undefined ? [] : [{ remote, policy: defined({ ...policy, ...entry.policy }) }];
    }),
    clock,
  );
  try {
    await registry.probe(timeoutMs);
    // As `troupe mcp` has it where there is nobody else to give tools to.
    const usual = Object.keys(config.agents).length === 0 ? "skills" : "generic";
    const { toolset = usual } = config.subAgents?.options ?? {};
    return new ToolCatalog(registry, { toolset, shortcuts: [] }).tools().map((tool) => {
      const { name, description, inputSchema, outputSchema } = tool;
      return {
        name,
        description: oneLine(description, MAX_WORDS),
        bytes: sizeOf(tool),
        schemaBytes: sizeOf(inputSchema) + (outputSchema === undefined ? 0 : sizeOf(outputSchema)),
      };
    });
  } finally {
    await registry.close();
  }
}

/** @returns `undefined` for an entry that is told as a problem of its own. */
function remoteOf(entry: ConfiguredSubAgent, config: Config): RemoteAgent | undefined {
  try {
    const remote = configuredRemote(entry);
    return typeof remote === "function" ? remote(describingHost(config)) : remote;
  } catch {
    return undefined;
  }
}

function sizeOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Says what the config's agents are, and runs none of them. */
function describingHost({ agents }: Config): LocalHost {
  return {
    describe(key) {
      const agent = agents[key];
      if (agent === undefined) throw new TroupeError("agent_not_found", `The config has no agent "${key}".`);
      return { name: key, driver: agent.driver };
    },
    start() {
      throw new TroupeError("invalid_input", "Nothing runs while a config is checked.");
    },
  };
}
