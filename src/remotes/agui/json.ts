import { parseJson } from "../../wire/json.js";

/** An object from outside, of which nothing is known. */
export type Json = Readonly<Record<string, unknown>>;

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member that is text; `undefined` for anything else. */
export function textIn(json: Json, member: string): string | undefined {
  const value = json[member];
  return typeof value === "string" ? value : undefined;
}

/** A member that is an identifier: text with something in it. */
export function idIn(json: Json, member: string): string | undefined {
  const value = json[member];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The words of a message's or a tool result's content: text, or parts of which only those with text count. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isJson(part) ? (textIn(part, "text") ?? "") : "")).join("");
}

/** JSON that comes as text; text that is none is itself. */
export function unpacked(value: unknown): unknown {
  if (typeof value !== "string" || value.length > MAX_PACKED) return value;
  try {
    // Deeply nested JSON could not even be quoted.
    return parseJson(value);
  } catch {
    return value;
  }
}

/** Characters of JSON within text. */
const MAX_PACKED = 100_000;
