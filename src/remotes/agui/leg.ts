import type { Delivery } from "./connection.js";
import type { Json } from "./json.js";

/** One request and its stream. */
export interface Leg {
  readonly input: Json;
  readonly events: AsyncGenerator<Delivery, void, undefined>;
  /** An event that was taken from the stream already. */
  readonly first?: Delivery;
  /** Ends the request. */
  readonly abort: () => void;
  readonly release: () => void;
  lastEventId: string | undefined;
}

/** How the reading of a stream ended. */
export type LegEnd =
  | { readonly type: "over" }
  | { readonly type: "asked" }
  | { readonly type: "lost"; readonly message: string };

/** How long a stream may stay open after its run has said that it ended, in milliseconds. */
export const DRAIN_MS = { now: 500, soon: 2_000, later: 10_000 } as const;

/** What a stream brings, with what was taken from it already. */
export async function* deliveries({ first, events }: Leg): AsyncGenerator<Delivery, void, undefined> {
  if (first !== undefined) yield first;
  yield* events;
}
