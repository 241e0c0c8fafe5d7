import { isDeepStrictEqual } from "node:util";
import type { Installation } from "./clients.js";

/** What becomes of a client's config: its new text, or why it is left alone. */
export type Merged = { readonly text: string } | { readonly unchanged: true } | { readonly refusal: string };

/** The entry alone, as a person would paste it. */
export function snippetOf({ format, section, name, entry }: Installation): string {
  if (format === "toml") return `[${section}.${name}]\n${tomlLines(entry)}`;
  return `${JSON.stringify({ [section]: { [name]: entry } }, undefined, 2)}\n`;
}

/** Adds the entry to what a file holds. Everything else in it stays. @param before `undefined` when there is no file. */
export function merge(installation: Installation, before: string | undefined): Merged {
  if (before === undefined || before.trim() === "") return { text: snippetOf(installation) };
  return installation.format === "toml" ? mergeToml(installation, before) : mergeJson(installation, before);
}

function mergeJson({ section, name, entry }: Installation, before: string): Merged {
  const byteOrderMark = before.startsWith("\ufeff") ? "\ufeff" : "";
  let value: unknown;
  try {
    value = JSON.parse(before.slice(byteOrderMark.length));
  } catch {
    return { refusal: "it has comments, or is no valid JSON. Add this by hand" };
  }
  const servers = isObject(value) ? (value[section] ?? {}) : undefined;
  if (!isObject(value) || !isObject(servers))
    return { refusal: `its ${section} is no object. Look at it first` };
  // What a second member of one name says, or a number beyond 2^53, would be lost in writing it again.
  if (squeezed(JSON.stringify(value)) !== squeezed(before.slice(byteOrderMark.length)))
    return { refusal: "it holds something that would be written differently. Add this by hand" };
  const known = Object.hasOwn(servers, name) ? servers[name] : undefined;
  if (isDeepStrictEqual(known, entry)) return { unchanged: true };
  if (known !== undefined && !isOurs(known))
    return { refusal: `it has another server "${name}". Rename or remove that one first` };
  const after = { ...value, [section]: { ...servers, [name]: entry } };
  const indent = /^[ \t]+(?=")/m.exec(before)?.[0] ?? "  ";
  const text = JSON.stringify(after, undefined, indent);
  const end = /\r?\n$/.exec(before)?.[0] ?? "";
  return { text: byteOrderMark + (before.includes("\r\n") ? text.replaceAll("\n", "\r\n") : text) + end };
}

/** JSON without what may stand between its parts; text keeps its meaning, not its spelling. */
function squeezed(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) =>
    part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : "",
  );
}

/** A table may stand at the end of any TOML document. */
function mergeToml(installation: Installation, before: string): Merged {
  const { section, name } = installation;
  const snippet = snippetOf(installation);
  if (before.replaceAll("\r\n", "\n").includes(snippet.trimEnd())) return { unchanged: true };
  const quotes = `["']?`;
  const table = new RegExp(`^\\s*\\[\\s*${section}\\s*\\.\\s*${quotes}${name}${quotes}\\s*[\\].]`, "m");
  const dotted = new RegExp(
    `^\\s*(?:${section}\\s*=|${section}\\s*\\.|${quotes}${name}${quotes}\\s*[.=])`,
    "m",
  );
  if (table.test(before) || dotted.test(before))
    return {
      refusal: `it has a server "${name}" already, or writes its servers in another way. Change it by hand`,
    };
  const newline = before.includes("\r\n") ? "\r\n" : "\n";
  return { text: `${before.trimEnd()}${newline}${newline}${snippet.replaceAll("\n", newline)}` };
}

/** Written by this command, of whatever version and place. */
function isOurs(entry: unknown): boolean {
  const args = isObject(entry) && Array.isArray(entry.args) ? entry.args.map(String) : [];
  const [program = ""] = args;
  return args[1] === "mcp" && (program === "troupe" || /[\\/]cli[\\/]main\.js$/.test(program));
}

function tomlLines(entry: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(entry).map(([key, value]) => `${key} = ${toml(value)}\n`);
  return lines.join("");
}

function toml(value: unknown): string {
  // Basic strings of TOML have the escapes of JSON.
  return Array.isArray(value)
    ? `[${value.map(toml).join(", ")}]`
    : JSON.stringify(value).replaceAll("\u007f", "\\u007f");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
