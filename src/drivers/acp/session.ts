import { type RunErrorCode, TroupeError } from "../../core/errors.js";
import type { McpServer } from "../../core/mcp-server.js";
import { asList, asObject, asText, type JsonObject } from "../process/json.js";
import { AGENT, SET_MODEL, VERSION_SPOKEN } from "./protocol.js";

/** What an agent said of itself. */
export interface AgentFacts {
  /** Its own name, such as `gemini-cli`; empty when it did not say. */
  readonly name: string;
  readonly version: string | undefined;
  readonly protocolVersion: unknown;
  readonly mcpHttp: boolean;
  /** How an old session is opened; `undefined` when it cannot be. */
  readonly resumeMethod: string | undefined;
  /** Ids of the logins it offers. */
  readonly authMethods: readonly string[];
}

/** The first request. Neither files nor terminals are offered: an agent works on its workspace itself. */
export function initializeParams(version: string): JsonObject {
  return {
    protocolVersion: VERSION_SPOKEN,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    clientInfo: { name: "troupe", title: "Troupe", version },
  };
}

/** Reads the answer to `initialize`. */
export function readAgent(initialized: JsonObject): AgentFacts {
  const capabilities = asObject(initialized.agentCapabilities);
  const { resume } = asObject(capabilities.sessionCapabilities);
  const info = asObject(initialized.agentInfo);
  // To resume shows nothing again; to load repeats the whole conversation first.
  const canResume = resume !== undefined && resume !== null && resume !== false;
  return {
    name: asText(info.name) ?? "",
    version: asText(info.version),
    protocolVersion: initialized.protocolVersion,
    mcpHttp: asObject(capabilities.mcpCapabilities).http === true,
    resumeMethod: canResume
      ? AGENT.session_resume
      : capabilities.loadSession === true
        ? AGENT.session_load
        : undefined,
    authMethods: asList(initialized.authMethods).flatMap((method) => asText(asObject(method).id) ?? []),
  };
}

/** An MCP server as `session/new` names it. `bridge`: the program that stands for a server over HTTP. */
export function mcpServerParams(
  server: McpServer,
  bridge: readonly [string, ...string[]] | undefined,
): JsonObject {
  if (server.transport === "http" && bridge === undefined)
    return { type: "http", name: server.name, url: server.url, headers: pairs(server.headers) };
  const [command, ...args] = bridge ?? stdioCommand(server);
  const env = server.transport === "stdio" ? pairs(server.env) : [];
  return { name: server.name, command, args, env };
}

function stdioCommand(server: McpServer): readonly [string, ...string[]] {
  return server.transport === "stdio" ? [server.command, ...(server.args ?? [])] : [server.url];
}

function pairs(values: Readonly<Record<string, string>> = {}): JsonObject[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

/** A request that chooses a mode or a model. */
export interface Choice {
  readonly method: string;
  readonly params: JsonObject;
}

/**
 * How `mode` and `model` are chosen in a session that was opened with this answer.
 * @throws TroupeError `capability_unsupported` when the agent does not offer what was asked for; its message lists what it offers.
 */
export function choices(
  opened: JsonObject,
  sessionId: string,
  wanted: { readonly mode?: string | undefined; readonly model?: string | undefined },
): Choice[] {
  const kinds = [
    {
      what: "mode",
      id: wanted.mode,
      listed: idsOf(asObject(opened.modes).availableModes, "id"),
      method: AGENT.session_set_mode,
      key: "modeId",
    },
    {
      what: "model",
      id: wanted.model,
      listed: idsOf(asObject(opened.models).availableModels, "modelId"),
      method: SET_MODEL,
      key: "modelId",
    },
  ] as const;
  return kinds.flatMap(({ what, id, listed, method, key }): Choice[] => {
    if (id === undefined) return [];
    // The options of a session are the newer way, and an agent that has them may keep the older one for a while.
    const option = optionOf(opened, what);
    if (option?.values.includes(id)) {
      const params = { sessionId, configId: option.id, value: id };
      return [{ method: AGENT.session_set_config_option, params }];
    }
    if (listed.includes(id)) return [{ method, params: { sessionId, [key]: id } }];
    throw notOffered(what, id, option?.values ?? listed);
  });
}

function notOffered(what: string, id: string, offered: readonly string[]): TroupeError<RunErrorCode> {
  const known = offered.length === 0 ? "it offers none" : `it offers ${offered.slice(0, 20).join(", ")}`;
  return new TroupeError("capability_unsupported", `The agent has no ${what} "${id}": ${known}.`);
}

function optionOf(opened: JsonObject, category: string): { id: string; values: string[] } | undefined {
  for (const value of asList(opened.configOptions)) {
    const option = asObject(value);
    const id = asText(option.id);
    if (id === undefined || (option.category ?? id) !== category) continue;
    // Values may be in groups.
    const values = asList(option.options).flatMap((item) => [item, ...asList(asObject(item).options)]);
    return { id, values: idsOf(values, "value") };
  }
  return undefined;
}

function idsOf(list: unknown, key: string): string[] {
  return asList(list).flatMap((item) => asText(asObject(item)[key]) ?? []);
}
