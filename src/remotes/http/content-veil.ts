import type { RemoteArtifactChunk, RemoteSignal } from "../../delegation/remote.js";
import type { Redactor } from "../../wire/redact.js";

type Piece = Extract<RemoteSignal, { readonly delta: string }>;

/** Signals before which nothing may be left to say. */
const ENDS = new Set<RemoteSignal["type"]>([
  "input_required",
  "auth_required",
  "completed",
  "failed",
  "rejected",
  "cancelled",
  "disconnected",
]);

/**
 * Keeps an entry's credential out of what one task says in pieces: text, reasoning, arguments of tools, the bytes of files. An end
 * of a piece that may be the beginning of the credential is held back until the next piece of the same, or the end, shows what it is.
 */
export class ContentVeil {
  /** What is held back, by what it belongs to, as the signal that would say it. */
  readonly #held = new Map<string, RemoteSignal>();
  /** The messages that are being said; whatever comes of another one ends them. */
  readonly #saying = new Map<"text" | "reasoning", string>();

  constructor(private readonly redact: Redactor) {}

  /** What may be said of `signal` now. */
  *pieces(signal: RemoteSignal): Generator<RemoteSignal, void, undefined> {
    switch (signal.type) {
      case "text":
      case "reasoning": {
        const key = keyOf(signal);
        const before = this.#saying.get(signal.type);
        this.#saying.set(signal.type, key);
        if (before !== undefined && before !== key) yield* this.#release(before);
        yield* this.#words(signal);
        return;
      }
      case "tool.args":
        yield* this.#words(signal);
        return;
      case "tool.end":
        yield* this.#release(`args ${signal.toolCallId}`);
        yield signal;
        return;
      case "artifact":
        yield* this.#file(signal.chunk);
        return;
      default:
        if (ENDS.has(signal.type)) for (const key of [...this.#held.keys()]) yield* this.#release(key);
        yield signal;
    }
  }

  *#words(signal: Piece): Generator<RemoteSignal, void, undefined> {
    const key = keyOf(signal);
    const { said, held } = this.redact.split(this.#take(key) + signal.delta);
    if (held !== "") this.#held.set(key, { ...signal, delta: held });
    if (said !== "") yield { ...signal, delta: said };
  }

  /** Bytes are looked at as Latin-1, which has one character for each; credentials are ASCII. */
  *#file(chunk: RemoteArtifactChunk): Generator<RemoteSignal, void, undefined> {
    const key = `file ${chunk.id}`;
    const before = this.#take(key);
    const all = (chunk.mode === "append" ? before : "") + Buffer.from(chunk.bytes).toString("latin1");
    const { said, held } = chunk.last ? { said: this.redact(all), held: "" } : this.redact.split(all);
    if (held !== "") {
      const bytes = Buffer.from(held, "latin1");
      this.#held.set(key, { type: "artifact", chunk: { ...chunk, mode: "append", bytes } });
    }
    if (said === "" && chunk.mode === "append" && !chunk.last && chunk.bytes.byteLength > 0) return;
    yield { type: "artifact", chunk: { ...chunk, bytes: Buffer.from(said, "latin1") } };
  }

  #take(key: string): string {
    const held = this.#held.get(key);
    this.#held.delete(key);
    if (held === undefined) return "";
    return held.type === "artifact"
      ? Buffer.from(held.chunk.bytes).toString("latin1")
      : "delta" in held
        ? held.delta
        : "";
  }

  *#release(key: string): Generator<RemoteSignal, void, undefined> {
    const signal = this.#held.get(key);
    if (signal === undefined) return;
    const rest = this.redact(this.#take(key));
    if (signal.type === "artifact")
      yield { type: "artifact", chunk: { ...signal.chunk, bytes: Buffer.from(rest, "latin1") } };
    else if ("delta" in signal) yield { ...signal, delta: rest };
  }
}

function keyOf(signal: Piece): string {
  return signal.type === "tool.args" ? `args ${signal.toolCallId}` : `${signal.type} ${signal.messageId}`;
}
