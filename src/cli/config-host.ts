import { resolve } from "node:path";
import type { A2aAgentOptions, A2aInboundAuth } from "../bridges/a2a/options.js";
import type { LoadedConfig } from "../config/load.js";
import { createAgent } from "../core/agent.js";
import type { PermissionOptions } from "../core/approval.js";
import { defined } from "../core/defined.js";
import type { Driver } from "../core/driver.js";
import { acp } from "../drivers/acp/acp.js";
import { gemini, openCode } from "../drivers/acp/presets.js";
import { claude } from "../drivers/claude/claude.js";
import { codex } from "../drivers/codex/codex.js";
import { cursor } from "../drivers/cursor/cursor.js";
import type { A2aHostOptions } from "../host/a2a-host.js";
import type { DurableStorage } from "../host/durable-storage.js";
import { createHost, type Host, type HostOptions } from "../host/host.js";
import { configuredRemote } from "./config-remotes.js";

/**
 * The host that a config describes; `overrides` are the command's own wishes. Without `storage` it keeps everything in memory.
 */
export function createConfiguredHost(
  { config, folder }: LoadedConfig,
  overrides: Partial<HostOptions> = {},
  storage?: DurableStorage,
): Promise<Host> {
  const agents = Object.entries(config.agents).map(([key, agent]) => {
    const { workspace = ".", permissions, approvalTimeoutMs } = agent;
    const options = {
      name: key,
      workspace: resolve(folder, workspace),
      ...(permissions === undefined ? {} : { permissions: permissionsOf(permissions) }),
      ...defined({ approvalTimeoutMs, threads: storage?.threads }),
    };
    return [key, createAgent(configuredDriver(agent), options)] as const;
  });
  const subAgents = (config.subAgents?.agents ?? []).map((entry) => ({
    remote: configuredRemote(entry),
    policy: defined(entry.policy ?? {}),
  }));
  const {
    responseMode,
    policy = {},
    toolset,
    syncBudgetMs,
    probeTimeoutMs,
  } = config.subAgents?.options ?? {};
  return createHost({
    agents: Object.fromEntries(agents),
    subAgents,
    ...defined({ a2a: shownAgents(config) }),
    ...defined({ toolset, syncBudgetMs, probeTimeoutMs, publicUrl: config.serve?.publicUrl }),
    ...defined({ maxActiveRuns: config.serve?.maxActiveRuns }),
    ...defined({ journal: storage?.journal, artifacts: storage?.artifacts }),
    ...overrides,
    policy: {
      ...defined({ ...policy, responseMode: responseMode ?? policy.responseMode }),
      ...overrides.policy,
    },
  });
}

type ConfiguredAgent = LoadedConfig["config"]["agents"][string];

/** The driver that a config names for one agent. */
export function configuredDriver(agent: ConfiguredAgent): Driver {
  const { model, executable, sandbox, command, args, environment } = agent;
  switch (agent.driver) {
    case "codex":
      return codex(defined({ model, executable, sandbox }));
    case "gemini":
      return gemini(defined({ model, executable, environment }));
    case "opencode":
      return openCode(defined({ model, executable, environment }));
    case "cursor":
      return cursor(defined({ model, executable }));
    case "acp":
      return acp({ command: command ?? "", ...defined({ args, model, environment }) });
    default:
      return claude(defined({ model, executable }));
  }
}

/** What a config says of permissions, as agents take it. */
export function permissionsOf(permissions: NonNullable<ConfiguredAgent["permissions"]>): PermissionOptions {
  return typeof permissions === "string" ? permissions : defined(permissions);
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
