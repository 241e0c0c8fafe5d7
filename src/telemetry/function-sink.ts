import { type BatchOptions, BatchQueue } from "./batch-queue.js";
import { droppedEvent } from "./sideband-encoder.js";
import type { SidebandEvent, SidebandSink } from "./sideband-event.js";

/**
 * Takes one batch somewhere: to Kafka, a queue, a file. Reject to have it called again with the same batch, with a `TroupeError`
 * that is not `retryable` to have the batch dropped.
 * @param signal aborts when the attempt has taken too long, or the host ends
 */
export type TakeBatch = (batch: readonly SidebandEvent[], signal: AbortSignal) => Promise<void> | void;

/** Gives batches to a function, one at a time. */
export function functionSink(take: TakeBatch, options: BatchOptions = {}): SidebandSink {
  const queue = new BatchQueue<SidebandEvent, SidebandEvent>(
    async (batch, signal) => take(batch, signal),
    {
      pack: (packed) => ({ packed, characters: JSON.stringify(packed).length }),
      notice: droppedEvent,
    },
    options,
  );
  return { send: (event) => queue.add(event), close: () => queue.close() };
}
