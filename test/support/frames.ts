import { readSse } from "../../src/wire/sse-reader.js";

/** One SSE frame of a host: the cursor, and the AG-UI event. */
export interface Frame {
  readonly id: string | undefined;
  readonly event: { readonly type: string; readonly name?: string; readonly [field: string]: unknown };
}

/** The frames of a response as they arrive. */
export async function* framesOf(response: Response): AsyncGenerator<Frame> {
  if (response.body === null) throw new Error(`No body, status ${response.status}`);
  for await (const { id, data } of readSse(response.body, { maxEventBytes: 64 * 1_048_576 })) {
    yield { id, event: JSON.parse(data) };
  }
}

/** All frames of a response that ends, or up to the first for which `enough` holds. */
export async function collect(
  response: Response,
  enough: (frame: Frame) => boolean = () => false,
): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of framesOf(response)) {
    frames.push(frame);
    if (enough(frame)) break;
  }
  return frames;
}

/** `TYPE`, or `CUSTOM(name)`. */
export function nameOf({ event }: Frame): string {
  return event.type === "CUSTOM" ? `CUSTOM(${event.name})` : event.type;
}

/** The value of a `CUSTOM` event. */
export function customValue(frame: Frame | undefined): Record<string, unknown> {
  return (frame?.event.value ?? {}) as Record<string, unknown>;
}

/** The frames of subagents, in order. */
export function subagentFrames(frames: readonly Frame[]): Frame[] {
  return frames.filter(({ event }) => event.type === "CUSTOM" && event.name?.startsWith("subagent."));
}

/** The text of all deltas of subagents. */
export function subagentText(frames: readonly Frame[]): string {
  return frames
    .filter(({ event }) => event.name === "subagent.text.delta")
    .map((frame) => String(customValue(frame).delta))
    .join("");
}
