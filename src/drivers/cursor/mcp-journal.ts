import { rmSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { asList, asNumber, asObject, asText, isObject, type JsonObject } from "../process/json.js";
import { readText, writeText } from "./workspace-file.js";

/** Who uses the servers that were added: one run of one host. */
export interface Holder {
  readonly pid: number;
  readonly id: string;
}

/** What was changed in `.cursor/mcp.json`, and how it was before. It lies beside it for as long as the change does. */
export interface McpJournal {
  /** The file's text before; `null`: there was none. */
  readonly original: string | null;
  /** The folder was made for it. */
  readonly madeFolder: boolean;
  /** The file's text after the change. */
  readonly written: string;
  /** What was added, by name. */
  readonly added: JsonObject;
  /** What was there by these names. */
  readonly replaced: JsonObject;
  readonly holders: readonly Holder[];
}

/** Reads a journal; `undefined` when there is none, or none that can be understood. */
export function readJournal(file: string): McpJournal | undefined {
  const text = readText(file);
  if (text === undefined) return undefined;
  let value: JsonObject;
  try {
    value = asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
  const { original, written } = value;
  if (typeof written !== "string" || (typeof original !== "string" && original !== null)) return undefined;
  const holders = asList(value.holders).flatMap((item) => {
    const { pid, id } = asObject(item);
    const [number, name] = [asNumber(pid), asText(id)];
    return number === undefined || name === undefined ? [] : [{ pid: number, id: name }];
  });
  const [added, replaced] = [asObject(value.added), asObject(value.replaced)];
  return { original, written, madeFolder: value.madeFolder === true, added, replaced, holders };
}

/** Takes the change back. What somebody else has changed meanwhile stays. */
export function restore(file: string, journalFile: string, journal: McpJournal): void {
  const now = readText(file);
  if (now === journal.written) {
    if (journal.original === null) rmSync(file, { force: true });
    else writeText(file, journal.original);
  } else if (now !== undefined) {
    const cleaned = withoutAdded(now, journal);
    // A file that cannot be read any more is somebody's own business, and is tried again at the next start.
    if (cleaned === undefined) return;
    writeText(file, cleaned);
  }
  rmSync(journalFile, { force: true });
}

/** `text` with the run's servers; `undefined` when it is no JSON object. */
export function withServers(text: string | undefined, servers: JsonObject): string | undefined {
  const config = text === undefined || text.trim() === "" ? {} : parsed(text);
  if (config === undefined) return undefined;
  return pretty({ ...config, mcpServers: { ...asObject(config.mcpServers), ...servers } });
}

/** The servers in `text` that have one of these names. */
export function serversNamed(text: string | undefined, names: readonly string[]): JsonObject {
  const known = asObject(parsed(text ?? "{}")?.mcpServers);
  return Object.fromEntries(names.flatMap((name) => (name in known ? [[name, known[name]]] : [])));
}

function withoutAdded(text: string, { added, replaced }: McpJournal): string | undefined {
  const config = parsed(text);
  if (config === undefined) return undefined;
  const servers = Object.entries(asObject(config.mcpServers)).flatMap(([name, entry]) => {
    if (!(name in added) || !isDeepStrictEqual(entry, added[name])) return [[name, entry] as const];
    return name in replaced ? [[name, replaced[name]] as const] : [];
  });
  return pretty({ ...config, mcpServers: Object.fromEntries(servers) });
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function pretty(value: JsonObject): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
