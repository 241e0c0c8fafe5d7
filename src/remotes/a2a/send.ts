import type { SendMessageRequest } from "@a2a-js/sdk";
import type { CallOptions, Delivery, TaskChannel } from "./channel.js";

/** Sends a message: as a stream, or, when the agent has none, as a call that gives one delivery. */
export function send(
  channel: TaskChannel,
  streaming: boolean,
  request: SendMessageRequest,
  options: CallOptions,
): AsyncGenerator<Delivery, void, undefined> {
  return streaming ? channel.stream(request, options) : sendOnce(channel, request, options);
}

async function* sendOnce(
  channel: TaskChannel,
  request: SendMessageRequest,
  options: CallOptions,
): AsyncGenerator<Delivery, void, undefined> {
  yield await channel.send(request, options);
}
