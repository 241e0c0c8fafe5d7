import { resolve } from "node:path";
import type { A2aAgentOptions, A2aInboundAuth } from "../bridges/a2a/options.js";
import type { LoadedConfig } from "../config/load.js";
import { createAgent } from "../core/agent.js";
import { defined } from "../core/defined.js";
import { claude } from "../drivers/claude/claude.js";
import { codex } from "../drivers/codex/codex.js";
import type { A2aHostOptions } from "../host/a2a-host.js";
import type { DurableStorage } from "../host/durable-storage.js";
import { createHost, type Host, type HostOptions } from "../host/host.js";
import { a2a } from "../remotes/a2a/a2a.js";

/**
 * The host that a config describes; `overrides` are the command's own wishes. Without `storage` it keeps everything in memory.
 */
export function createConfiguredHost(
  { config, folder }: LoadedConfig,
  overrides: Partial<HostOptions> = {},
  storage?: DurableStorage,
): Promise<Host> {
  const agents = Object.entries(config.agents).map(
    ([key, { driver: program, workspace = ".", model, permissions, executable, sandbox }]) => {
      const driver =
        program === "codex"
          ? codex(defined({ model, executable, sandbox }))
          : claude(defined({ model, executable }));
      const options = {
        name: key,
        workspace: resolve(folder, workspace),
        ...defined({ permissions, threads: storage?.threads }),
      };
      return [key, createAgent(driver, options)] as const;
    },
  );
  const subAgents = (config.subAgents?.agents ?? []).map(
    ({ name, agentCardUrl, endpointUrlOverride, auth, trustedOrigins, policy }) => ({
      remote: a2a({
        name,
        agentCardUrl,
        ...defined({ endpointUrlOverride }),
        ...(auth === undefined ? {} : { auth: authOf(auth) }),
        ...defined({ trustedOrigins }),
      }),
      policy: defined(policy ?? {}),
    }),
  );
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
    ...defined({ journal: storage?.journal, artifacts: storage?.artifacts }),
    ...overrides,
    policy: {
      ...defined({ ...policy, responseMode: responseMode ?? policy.responseMode }),
      ...overrides.policy,
    },
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

type ConfiguredAuth = NonNullable<NonNullable<LoadedConfig["config"]["subAgents"]>["agents"][number]["auth"]>;

function authOf(auth: ConfiguredAuth) {
  if (auth.mode === "api_key") {
    const { mode, key, headerName } = auth;
    return { mode, key, ...defined({ headerName }) };
  }
  if (auth.mode !== "oauth2") return auth;
  const { scope, ...rest } = auth;
  return { ...rest, ...defined({ scope }) };
}
