import { createHash } from "node:crypto";

/** Characters of a remote's status line. */
export const MAX_STATUS_TEXT = 2_000;
/** Characters of a remote's closing words or question. */
export const MAX_CLOSING_TEXT = 32_000;
/** Characters of a name that a remote gave. */
const MAX_NAME = 200;

/** `text` cut to `limit` UTF-16 units, never in the middle of a character. */
export function capText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const code = text.charCodeAt(limit - 1);
  return `${text.slice(0, code >= 0xd800 && code <= 0xdbff ? limit - 1 : limit)}…`;
}

/** A name fit for a list: one line, no path, capped; `undefined` when nothing is left. */
export function cleanName(name: string): string | undefined {
  const base =
    name
      .replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ")
      .split(/[/\\]/)
      .at(-1) ?? "";
  const trimmed = capText(base.trim(), MAX_NAME);
  return trimmed === "" || /^\.+$/.test(trimmed) ? undefined : trimmed;
}

/** A remote's identifier in a form that is safe in a URL, and still tells apart what the remote told apart. */
export function safeId(id: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(id)) return id;
  const slug = id
    .replaceAll(/[^A-Za-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 40);
  const hash = createHash("sha256").update(id).digest("hex").slice(0, 12);
  return slug === "" ? hash : `${slug}-${hash}`;
}
