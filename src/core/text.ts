/** The first `limit` UTF-16 units of `text`, one less where the cut would leave half a character. */
export function startOf(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return text.slice(0, limit).replace(/[\ud800-\udbff]$/, "");
}

/** `text` with U+FFFD for each half of a character that stands alone: strict JSON parsers refuse those. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}
