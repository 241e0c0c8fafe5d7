const NAME = "search";
/** More ranges than this would make the page slow, and nobody sees them at once. */
const MOST_RANGES = 2_000;

/** Paints every occurrence of `query` in what is shown, without touching the elements. @returns what takes the paint away. */
export function paintMatches(root: Element | null, query: string): () => void {
  const wanted = query.trim().toLowerCase();
  const clear = () => void CSS.highlights?.delete(NAME);
  if (!root || wanted === "" || !CSS.highlights) return clear;
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MOST_RANGES; node = walker.nextNode()) {
    const text = node.nodeValue?.toLowerCase() ?? "";
    // Lower case of some letters is longer than they are; such a text is left unpainted rather than painted beside it.
    if (text.length !== node.nodeValue?.length) continue;
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      ranges.push(range);
    }
  }
  CSS.highlights.set(NAME, new Highlight(...ranges));
  return clear;
}
