import { lstatSync, mkdirSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { readConfig } from "../../config/read.js";
import { systemClock } from "../../core/clock.js";
import { readPrivateFile, writePrivateFile } from "../../host/workspace-file.js";

/** What the file's `$schema` says: it tells the file from others of that name. */
const MARK = "urn:troupe:subagents-bridge";
const FOLDER = ".a2a";
const FILE = "subagents-bridge.json";

/** Members of an entry that hold a credential, wherever they stand. */
const SECRETS = new Set(["token", "key", "clientSecret"]);

/** The workspace of a config: its folder, or the one above for the bridge's own file. */
export function workspaceOf(config: string): string {
  const folder = dirname(config);
  return basename(folder) === FOLDER && basename(config) === FILE ? dirname(folder) : folder;
}

/**
 * Writes the sub-agents of a config into the bridge's own file, which is a config too: what an MCP client that is given
 * `troupe mcp --config` on it can call. It holds references to variables, and never a credential; only its owner may read it.
 * @returns why it was not written; `undefined` when it was, or there was nothing to write.
 */
export async function writeBridgeFile(config: string): Promise<string | undefined> {
  const workspace = workspaceOf(config);
  // A module would have to be run for it, and hands out what it has read from the environment.
  if (workspace !== dirname(config) || /^\.m?js$/.test(extname(config))) return undefined;
  const content = bridgeConfig(await readConfig(config, systemClock));
  if (content === undefined) return undefined;
  const folder = join(workspace, FOLDER);
  const file = join(folder, FILE);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!lstatSync(folder).isDirectory()) return `${folder} is no folder.`;
    const before = existing(file);
    if (before === "foreign") return `${file} is somebody else's, and stays as it is.`;
    const text = `${JSON.stringify(content, undefined, 2)}\n`;
    if (before !== text) writePrivateFile(file, text);
    return undefined;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return `${file} cannot be written (${code}).`;
  }
}

/** The sub-agents that can be called without this config's local agents, with references in place of all credentials. */
function bridgeConfig(raw: unknown): object | undefined {
  const subAgents = membersOf(membersOf(raw).subAgents);
  const agents = (Array.isArray(subAgents.agents) ? subAgents.agents : [])
    .map(membersOf)
    .filter((entry) => entry.agent === undefined && typeof entry.name === "string");
  if (agents.length === 0) return undefined;
  const entries = agents.map((entry) => referencesOnly(entry, variableOf(String(entry.name))));
  const { options } = subAgents;
  return {
    $schema: MARK,
    subAgents: { agents: entries, ...(options === undefined ? {} : { options }) },
  };
}

function referencesOnly(value: unknown, variable: string, member = "", inHeaders = false): unknown {
  if (typeof value === "string") {
    const text = value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*):-[^}]*\}/g, "${$1}");
    if (SECRETS.has(member) || inHeaders)
      return /\$\{\w+\}/.test(text) ? onlyReference(text) : `\${${variable}}`;
    return withoutCredential(text, variable);
  }
  if (Array.isArray(value)) return value.map((one) => referencesOnly(one, variable, member, inHeaders));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      referencesOnly(inner, variable, name, inHeaders || member === "headers" || name === "headers"),
    ]),
  );
}

/** What stands around a reference may be half of a credential, except for the word that names its scheme. */
function onlyReference(text: string): string {
  const [reference = ""] = /\$\{\w+\}/.exec(text) ?? [];
  return /^(?:Bearer|Basic|Token) \$\{\w+\}$/.test(text) ? text : reference;
}

/** Some servers take their key in the address. */
function withoutCredential(text: string, variable: string): string {
  if (!/^https?:\/\//.test(text)) return text;
  return text
    .replace(/^(https?:\/\/)[^/?#@]*@/, "$1")
    .replace(/\?(?!\$\{\w+\}$).*$/, `?\${${variable.replace(/TOKEN$/, "QUERY")}}`);
}

function variableOf(name: string): string {
  return `${name
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, "_")
    .replace(/^(?=\d)/, "_")}_TOKEN`;
}

function existing(file: string): string | "foreign" | undefined {
  try {
    const text = readPrivateFile(file);
    if (text === undefined) return undefined;
    return membersOf(JSON.parse(text)).$schema === MARK ? text : "foreign";
  } catch {
    return "foreign";
  }
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
