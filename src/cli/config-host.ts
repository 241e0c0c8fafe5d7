import type { A2aAgentOptions, A2aInboundAuth } from "../bridges/a2a/options.js";
import type { LoadedConfig } from "../config/load.js";
import { defined } from "../core/defined.js";
import type { A2aHostOptions } from "../host/a2a-host.js";
import type { DurableStorage } from "../host/durable-storage.js";
import { createHost, type Host, type HostOptions } from "../host/host.js";
import { ConfigParts } from "./config-parts.js";

/**
 * The host that a config describes; `overrides` are the command's own wishes. Without `storage` it keeps everything in memory.
 * @param parts where the agents and sub-agents come from, for who wants to change them later.
 */
export function createConfiguredHost(
  loaded: LoadedConfig,
  overrides: Partial<HostOptions> = {},
  storage?: DurableStorage,
  parts = new ConfigParts(storage?.threads),
): Promise<Host> {
  const { config } = loaded;
  const { agents, subAgents, policy } = parts.of(loaded);
  const { toolset, syncBudgetMs, probeTimeoutMs } = config.subAgents?.options ?? {};
  return createHost({
    agents,
    subAgents,
    ...defined({ a2a: shownAgents(config) }),
    ...defined({ toolset, syncBudgetMs, probeTimeoutMs, publicUrl: config.serve?.publicUrl }),
    ...defined({ maxActiveRuns: config.serve?.maxActiveRuns }),
    ...defined({ journal: storage?.journal, artifacts: storage?.artifacts }),
    ...overrides,
    policy: { ...policy, ...overrides.policy },
  });
}

/** The agents that A2A clients may call; `undefined` when there is none. */
function shownAgents({ agents, a2a }: LoadedConfig["config"]): A2aHostOptions | undefined {
  const shown = Object.entries(agents).flatMap(([key, { a2a: shape }]) => {
    if (shape === undefined || shape === false) return [];
    return [[key, shape === true ? true : (withoutUndefined(shape) as A2aAgentOptions)] as const];
  });
  if (shown.length === 0) return undefined;
  return {
    agents: Object.fromEntries(shown),
    ...(a2a === undefined ? {} : { auth: withoutUndefined(a2a.auth) as A2aInboundAuth }),
  };
}

/** Members that zod left `undefined` are absent, at any depth. */
function withoutUndefined(value: object): object {
  return JSON.parse(JSON.stringify(value)) as object;
}
