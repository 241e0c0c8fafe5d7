import { resolve } from "node:path";
import type { LoadedConfig } from "../config/load.js";
import type { ConfiguredSubAgent } from "../config/sub-agent-schema.js";
import { type Agent, createAgent } from "../core/agent.js";
import { defined } from "../core/defined.js";
import { createMemoryThreadStore, type ThreadStore } from "../core/thread.js";
import type { DelegationPolicy } from "../delegation/policy.js";
import type { RemoteAgent } from "../delegation/remote.js";
import type { LocalRemote } from "../remotes/local/local-host.js";
import { type ConfiguredAgent, configuredDriver, permissionsOf } from "./config-agents.js";
import { configuredRemote } from "./config-remotes.js";

/** What of a config a host can change while it runs. */
export interface HostParts {
  readonly agents: Readonly<Record<string, Agent>>;
  readonly subAgents: readonly {
    readonly remote: RemoteAgent | LocalRemote;
    readonly policy: Partial<DelegationPolicy>;
  }[];
  readonly policy: Partial<DelegationPolicy>;
}

/**
 * Makes the agents and remotes of a config. What the config before it described in the same words is the same object again, with all
 * that it knows: sessions, cards, tokens.
 */
export class ConfigParts {
  #agents = new Map<string, Agent>();
  #remotes = new Map<string, RemoteAgent | LocalRemote>();

  constructor(private readonly threads: ThreadStore = createMemoryThreadStore()) {}

  /** @throws ConfigError, TroupeError for an option that an agent or a remote refuses; then nothing is changed. */
  of({ config, folder }: LoadedConfig): HostParts {
    const agents = new Map<string, Agent>();
    const remotes = new Map<string, RemoteAgent | LocalRemote>();
    const parts = {
      agents: Object.fromEntries(
        Object.entries(config.agents).map(([key, configured]) => {
          const words = JSON.stringify([key, folder, configured]);
          const agent = this.#agents.get(words) ?? this.#agent(key, folder, configured);
          agents.set(words, agent);
          return [key, agent];
        }),
      ),
      subAgents: (config.subAgents?.agents ?? []).map((entry) => {
        const words = JSON.stringify({ ...entry, policy: undefined });
        const remote = this.#remotes.get(words) ?? configuredRemote(entry);
        remotes.set(words, remote);
        return { remote, policy: ownPolicy(entry) };
      }),
      policy: sharedPolicy(config),
    };
    this.#agents = agents;
    this.#remotes = remotes;
    return parts;
  }

  #agent(key: string, folder: string, configured: ConfiguredAgent): Agent {
    const { workspace = ".", permissions, approvalTimeoutMs } = configured;
    return createAgent(configuredDriver(configured), {
      name: key,
      workspace: resolve(folder, workspace),
      threads: this.threads,
      ...(permissions === undefined ? {} : { permissions: permissionsOf(permissions) }),
      ...defined({ approvalTimeoutMs }),
    });
  }
}

function ownPolicy({ policy = {} }: ConfiguredSubAgent): Partial<DelegationPolicy> {
  return defined(policy);
}

function sharedPolicy({ subAgents }: LoadedConfig["config"]): Partial<DelegationPolicy> {
  const { responseMode, policy = {} } = subAgents?.options ?? {};
  return defined({ ...policy, responseMode: responseMode ?? policy.responseMode });
}
