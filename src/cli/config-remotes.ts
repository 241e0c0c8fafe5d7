import { ConfigError } from "../config/config-error.js";
import { type ConfiguredSubAgent, protocolOf } from "../config/sub-agent-schema.js";
import { defined } from "../core/defined.js";
import type { RemoteAgent } from "../delegation/remote.js";
import { a2a } from "../remotes/a2a/a2a.js";
import { agui } from "../remotes/agui/agui.js";
import type { RemoteAuth } from "../remotes/http/auth.js";
import { local } from "../remotes/local/local.js";
import type { LocalRemote } from "../remotes/local/local-host.js";

/**
 * The remote that an entry of a config describes.
 * @throws ConfigError for an entry without an address, TroupeError for an option that the remote refuses.
 */
export function configuredRemote(entry: ConfiguredSubAgent): RemoteAgent | LocalRemote {
  const { name, auth, trustedOrigins, description } = entry;
  const reached = { ...authOf(auth), ...defined({ trustedOrigins }) };
  switch (protocolOf(entry)) {
    case "local":
      return local({ name, agent: required(entry, "agent"), ...defined({ description }) });
    case "agui": {
      const { title, headers, resume, stopUrl, state, unansweredTools } = entry;
      return agui({
        name,
        url: required(entry, "url"),
        ...reached,
        ...defined({ title, description, headers, resume, stopUrl, state, unansweredTools }),
      });
    }
    case "a2a": {
      const { endpointUrlOverride } = entry;
      const agentCardUrl = required(entry, "agentCardUrl");
      return a2a({ name, agentCardUrl, ...defined({ endpointUrlOverride }), ...reached });
    }
  }
}

function required(entry: ConfiguredSubAgent, member: "agent" | "url" | "agentCardUrl"): string {
  const value = entry[member];
  if (value === undefined) throw new ConfigError(`subAgents: "${entry.name}" has no ${member}.`);
  return value;
}

function authOf(auth: ConfiguredSubAgent["auth"]): { readonly auth?: RemoteAuth } {
  if (auth === undefined) return {};
  if (auth.mode === "api_key") {
    const { mode, key, headerName } = auth;
    return { auth: { mode, key, ...defined({ headerName }) } };
  }
  if (auth.mode !== "oauth2") return { auth };
  const { scope, ...rest } = auth;
  return { auth: { ...rest, ...defined({ scope }) } };
}
