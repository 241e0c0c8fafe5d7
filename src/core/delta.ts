/** An event that carries a piece of a growing text. */
interface DeltaEvent {
  readonly type: string;
  readonly delta: string;
}

/** What two deltas must share to be one: with any other difference the merged event would say something untrue. */
const KEYS = [
  "runId",
  "delegationId",
  "messageId",
  "toolCallId",
  "parentToolCallId",
  "remoteTaskId",
  "remoteContextId",
] as const;

function isDelta(event: object): event is DeltaEvent & Record<string, unknown> {
  return "delta" in event && typeof event.delta === "string";
}

/** Whether `next` goes on with the text that `previous` carries, so that the two may become one event. */
export function continuesText(previous: object, next: object): boolean {
  if (!isDelta(previous) || !isDelta(next) || previous.type !== next.type) return false;
  return KEYS.every((key) => previous[key] === next[key]);
}

/** `event` with another piece of text. Call only with events for which {@link continuesText} holds. */
export function withDelta<Event extends object>(event: Event, delta: string): Event {
  return { ...event, delta };
}

/** The piece of text that `event` carries, or `undefined`. */
export function deltaOf(event: object): string | undefined {
  return isDelta(event) ? event.delta : undefined;
}
