import type { SendMessageRequest } from "@a2a-js/sdk";
import type { CallOptions, Delivery, TaskChannel } from "./channel.js";

/** Sends a message: as a stream, or, when the agent has none, as a call that gives one delivery. */
export async function* send(
  channel: TaskChannel,
  streaming: boolean,
  request: SendMessageRequest,
  options: CallOptions,
): AsyncGenerator<Delivery, void, undefined> {
  if (streaming) yield* channel.stream(request, options);
  else yield await channel.send(request, options);
}
