import type { FaceCall } from "./call.js";

/** A request to an agent's face, below the agent's own address. */
export interface FaceRequest extends FaceCall {
  readonly method: string;
  /** Without the agent's own part and without a slash before it. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The body as text. May be called once. @throws {@link BodyError} */
  readonly body: () => Promise<string>;
}

/** The body could not be read: too large, or no UTF-8. */
export class BodyError extends Error {
  constructor(readonly status: 400 | 413) {
    super(status === 413 ? "The request is too large." : "The body is not UTF-8.");
  }
}

/** What a face answers. */
export type FaceAnswer =
  | { readonly kind: "json"; readonly status: number; readonly contentType: string; readonly body: unknown }
  /** Frames of an event stream, formatted already. `close` is to be called when nobody reads them any more. */
  | { readonly kind: "stream"; readonly frames: AsyncGenerator<string>; readonly close: () => void };

/** A JSON answer. */
export function json(body: unknown, status = 200, contentType = "application/json"): FaceAnswer {
  return { kind: "json", status, contentType, body };
}

const JSON_TYPE = /^application\/(?:json|a2a\+json)\s*(?:;|$)/i;

/** Whether the body says that it is JSON. A page of another origin can send everything else without asking first. */
export function isJsonType(headers: Headers): boolean {
  return JSON_TYPE.test((headers.get("content-type") ?? "").trim());
}

/** Whether the caller can take what we answer with. Clients exist that name JSON alone and read streams all the same. */
export function isAcceptable(headers: Headers): boolean {
  const accept = headers.get("accept");
  if (accept === null || accept.trim() === "") return true;
  return accept
    .split(",")
    .some((range) =>
      /^\s*(?:\*\/\*|application\/(?:\*|json|a2a\+json)|text\/(?:\*|event-stream))\s*(?:;|$)/i.test(range),
    );
}

/** A stream whose first item is there. */
export interface OpenStream<Item> {
  readonly items: AsyncGenerator<Item, void, undefined>;
  /** Ends it, also where nobody has begun to read: a generator that was never started runs nothing when it is returned. */
  readonly close: () => void;
}

/** Waits for the first item of a stream. @throws what the stream throws before it. */
export async function openStream<Item>(
  stream: AsyncGenerator<Item, void, undefined>,
): Promise<OpenStream<Item>> {
  const first = await stream.next();
  const items = (async function* () {
    if (first.done) return;
    yield first.value;
    yield* stream;
  })();
  return { items, close: () => void stream.return().catch(() => undefined) };
}
