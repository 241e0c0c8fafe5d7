import type { EventId, EventStore, JSONRPCMessage, StreamId } from "@modelcontextprotocol/server";
import type { Clock, Timer } from "../../core/clock.js";

/** Messages kept of one stream: a call has a few progress notes and one result. */
const KEEP_MESSAGES = 256;
/** How long a stream with its result can still be resumed, in milliseconds. */
const KEEP_ANSWERED_MS = 60_000;

/** What one legacy session sent, enough to resume a dropped socket where it broke. */
export class SessionEvents implements EventStore {
  #count = 0;
  readonly #streams = new Map<StreamId, { readonly id: EventId; readonly message: JSONRPCMessage }[]>();
  readonly #timers = new Set<Timer>();
  #closed = false;

  constructor(private readonly clock: Clock) {}

  async storeEvent(stream: StreamId, message: JSONRPCMessage): Promise<EventId> {
    const id = `${stream}/${++this.#count}`;
    if (this.#closed) return id;
    const sent = this.#streams.get(stream) ?? [];
    this.#streams.set(stream, sent);
    sent.push({ id, message });
    if (sent.length > KEEP_MESSAGES) sent.shift();
    if ("result" in message || "error" in message) {
      const timer = this.clock.timer(KEEP_ANSWERED_MS, () => {
        this.#timers.delete(timer);
        this.#streams.delete(stream);
      });
      this.#timers.add(timer);
    }
    return id;
  }

  /** The session is over: nothing can be resumed any more. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#streams.clear();
  }

  async getStreamIdForEventId(id: EventId): Promise<StreamId | undefined> {
    const stream = streamOf(id);
    return this.#streams.has(stream) ? stream : undefined;
  }

  async replayEventsAfter(
    id: EventId,
    { send }: { send: (id: EventId, message: JSONRPCMessage) => Promise<void> },
  ): Promise<StreamId> {
    const stream = streamOf(id);
    const sent = this.#streams.get(stream) ?? [];
    for (const event of sent.slice(sent.findIndex((known) => known.id === id) + 1)) {
      // A priming event has no content; there is nothing to send again.
      if (Object.keys(event.message).length > 0) await send(event.id, event.message);
    }
    return stream;
  }
}

function streamOf(id: EventId): StreamId {
  return id.slice(0, id.lastIndexOf("/"));
}
