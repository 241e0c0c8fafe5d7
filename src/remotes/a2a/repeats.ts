/** Places in the text that are still possible; more are not worth the time. */
const MAX_PLACES = 64;

/**
 * Whether `stored` is what `chunks` make when some of them were written several times in a row. Python's a2a-sdk 0.3.26 stores every
 * chunk once for each subscriber; such a text must not replace what was streamed. Anything may follow, unless the chunks as they
 * are would do as well.
 */
export function isRepeating(stored: string, chunks: readonly string[]): boolean {
  /** Where the chunks end, each written once; `undefined` when that does not fit. */
  let plain: number | undefined = 0;
  /** Where they may end with a repeat among them. */
  let repeated = new Set<number>();
  for (const chunk of chunks) {
    if (chunk === "") continue;
    const next = new Set<number>();
    for (const place of plain === undefined ? repeated : [plain, ...repeated]) {
      let end = place;
      while (stored.startsWith(chunk, end) && next.size < MAX_PLACES) {
        end += chunk.length;
        if (place !== plain || end > place + chunk.length) next.add(end);
      }
    }
    if (plain !== undefined) plain = stored.startsWith(chunk, plain) ? plain + chunk.length : undefined;
    repeated = next;
    if (plain === undefined && repeated.size === 0) return false;
  }
  return plain === undefined ? repeated.size > 0 : repeated.has(stored.length);
}
