import { ConfigError } from "../config/config-error.js";
import { type ConfiguredSubAgent, protocolOf } from "../config/sub-agent-schema.js";
import { defined } from "../core/defined.js";
import type { RemoteAgent } from "../delegation/remote.js";
import { a2a } from "../remotes/a2a/a2a.js";
import type { A2aOptions } from "../remotes/a2a/options.js";
import { agui } from "../remotes/agui/agui.js";
import type { AguiOptions } from "../remotes/agui/options.js";
import type { RemoteAuth } from "../remotes/http/auth.js";
import { local } from "../remotes/local/local.js";
import type { LocalRemote } from "../remotes/local/local-host.js";

/**
 * The remote that an entry of a config describes.
 * @throws ConfigError for an entry without an address, TroupeError for an option that the remote refuses.
 */
export function configuredRemote(entry: ConfiguredSubAgent): RemoteAgent | LocalRemote {
  switch (protocolOf(entry)) {
    case "local": {
      const { name, description } = entry;
      return local({ name, agent: required(entry, "agent"), ...defined({ description }) });
    }
    case "agui":
      return agui(aguiOptionsOf(entry));
    case "a2a":
      return a2a(a2aOptionsOf(entry));
  }
}

/** What an entry says of an agent that speaks A2A. */
export function a2aOptionsOf(entry: ConfiguredSubAgent): A2aOptions {
  const { name, endpointUrlOverride, signature, signatureKeys } = entry;
  const agentCardUrl = required(entry, "agentCardUrl");
  return {
    name,
    agentCardUrl,
    ...defined({ endpointUrlOverride, signature, signatureKeys }),
    ...reachedBy(entry),
  };
}

/** What an entry says of an agent that speaks AG-UI. */
export function aguiOptionsOf(entry: ConfiguredSubAgent): AguiOptions {
  const { name, title, description, headers, resume, stopUrl, state, unansweredTools } = entry;
  return {
    name,
    url: required(entry, "url"),
    ...reachedBy(entry),
    ...defined({ title, description, headers, resume, stopUrl, state, unansweredTools }),
  };
}

function reachedBy({ auth, trustedOrigins }: ConfiguredSubAgent) {
  return { ...authOf(auth), ...defined({ trustedOrigins }) };
}

function required(entry: ConfiguredSubAgent, member: "agent" | "url" | "agentCardUrl"): string {
  const value = entry[member];
  if (value === undefined) throw new ConfigError(`subAgents: "${entry.name}" has no ${member}.`);
  return value;
}

function authOf(auth: ConfiguredSubAgent["auth"]): { readonly auth?: RemoteAuth } {
  if (auth === undefined) return {};
  if (auth.mode === "api_key") {
    const { mode, token = "", key = token, headerName } = auth;
    return { auth: { mode, key, ...defined({ headerName }) } };
  }
  if (auth.mode !== "oauth2") return { auth };
  const { scope, ...rest } = auth;
  return { auth: { ...rest, ...defined({ scope }) } };
}
