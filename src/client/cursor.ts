import type { Cursor } from "../journal/journal.js";

/** The text as a cursor, or `undefined` when it is none. */
export function toCursor(text: string | undefined): Cursor | undefined {
  return text !== undefined && /^\d{1,20}$/.test(text) ? text : undefined;
}

/** Negative when `left` comes before `right`. Compares as integers of any size: a cursor may be above 2^53. */
export function compareCursors(left: Cursor, right: Cursor): number {
  const [a, b] = [withoutLeadingZeros(left), withoutLeadingZeros(right)];
  if (a.length !== b.length) return a.length - b.length;
  return a === b ? 0 : a < b ? -1 : 1;
}

function withoutLeadingZeros(cursor: Cursor): string {
  return cursor.startsWith("0") ? cursor.replace(/^0+(?=\d)/, "") : cursor;
}
