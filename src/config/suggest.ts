/** Names that a list in a message shows at most. */
const MAX_LISTED = 30;

/** `"a", "b", "c"`. */
export function quotedList(words: readonly string[]): string {
  const shown = words.slice(0, MAX_LISTED).map((word) => `"${word}"`);
  return [...shown, ...(words.length > MAX_LISTED ? ["…"] : [])].join(", ");
}

/** `; did you mean "x"?`, or nothing when no candidate is near. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const found = nearest(word, candidates);
  return found === undefined ? "" : `; did you mean "${found}"?`;
}

/**
 * The candidate that `word` was probably meant to be: letters left out, doubled, exchanged or swapped, another case, `_` or `-`
 * between words.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > 60) return undefined;
  const plain = simplified(word);
  // Two of five letters may be wrong.
  let best = Math.max(1, Math.floor(plain.length * 0.4)) + 1;
  let found: string | undefined;
  for (const candidate of candidates) {
    const distance = editDistance(plain, simplified(candidate));
    if (distance >= best) continue;
    best = distance;
    found = candidate;
  }
  return found;
}

function simplified(word: string): string {
  return word.toLowerCase().replaceAll(/[_-]/g, "");
}

/** Letters to insert, remove, exchange or swap with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + cost);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) least = Math.min(least, (before[j - 2] ?? 0) + 1);
      row.push(least);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length] ?? 0;
}
