import { resolve } from "node:path";
import type { LoadedConfig } from "../config/load.js";
import { createAgent } from "../core/agent.js";
import { defined } from "../core/defined.js";
import { claude } from "../drivers/claude/claude.js";
import { createHost, type Host, type HostOptions } from "../host/host.js";
import { a2a } from "../remotes/a2a/a2a.js";

/** The host that a config describes; `overrides` are the command's own wishes. */
export function createConfiguredHost(
  { config, folder }: LoadedConfig,
  overrides: Partial<HostOptions> = {},
): Promise<Host> {
  const agents = Object.entries(config.agents).map(
    ([key, { workspace = ".", model, permissions, executable }]) => {
      const driver = claude(defined({ model, executable }));
      const options = {
        name: key,
        workspace: resolve(folder, workspace),
        ...defined({ permissions }),
      };
      return [key, createAgent(driver, options)] as const;
    },
  );
  const subAgents = (config.subAgents?.agents ?? []).map(
    ({ name, agentCardUrl, endpointUrlOverride, auth, trustedOrigins }) =>
      a2a({
        name,
        agentCardUrl,
        ...defined({ endpointUrlOverride }),
        ...(auth === undefined ? {} : { auth: authOf(auth) }),
        ...defined({ trustedOrigins }),
      }),
  );
  const { responseMode, toolset, syncBudgetMs, probeTimeoutMs } = config.subAgents?.options ?? {};
  return createHost({
    agents: Object.fromEntries(agents),
    subAgents,
    ...defined({ toolset, syncBudgetMs, probeTimeoutMs }),
    ...overrides,
    policy: { ...defined({ responseMode }), ...overrides.policy },
  });
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
