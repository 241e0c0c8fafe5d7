/** Places in the text that are still possible; more are not worth the time. */
const MAX_PLACES = 64;

/**
 * Whether `stored` is what `chunks` make when each of them may have been written several times in a row, with anything after it.
 * Python's a2a-sdk 0.3.26 stores every chunk once for each subscriber; such a text must not replace what was streamed.
 */
export function isRepeating(stored: string, chunks: readonly string[]): boolean {
  let places = new Set([0]);
  let repeated = false;
  for (const chunk of chunks) {
    if (chunk === "") continue;
    const next = new Set<number>();
    for (const place of places) {
      let end = place;
      while (stored.startsWith(chunk, end)) {
        if (end > place) repeated = true;
        end += chunk.length;
        if (next.size >= MAX_PLACES) break;
        next.add(end);
      }
    }
    if (next.size === 0) return false;
    places = next;
  }
  return repeated;
}
