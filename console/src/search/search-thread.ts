import type { ThreadView } from "../../../src/client/index.js";
import { type Place, placesOf } from "./places.js";

/** More are not counted: nobody steps through them. */
export const MOST_MATCHES = 1_000;

/** The places of a thread whose words contain `query`, in the order of the page. Capital letters make no difference. */
export function searchThread(view: ThreadView, query: string): readonly Place[] {
  const wanted = query.trim().toLowerCase();
  const found: Place[] = [];
  if (wanted === "") return found;
  for (const place of placesOf(view)) {
    if (place.texts.some((text) => text.toLowerCase().includes(wanted))) found.push(place);
    if (found.length === MOST_MATCHES) break;
  }
  return found;
}
