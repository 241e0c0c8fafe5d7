import { createHash, type Hash } from "node:crypto";
import type { Artifact, Part } from "@a2a-js/sdk";
import { defined } from "../../core/defined.js";
import type { RemoteArtifactChunk, RemoteSignal } from "../../delegation/remote.js";
import { cleanName, safeId } from "../http/words.js";
import { partBytes } from "./words.js";

interface KeptFile {
  readonly id: string;
  /** Bytes so far. */
  size: number;
  /** Over the bytes so far, to know them again in a snapshot. */
  hash: Hash;
  /** Size and hash of each piece, to tell a store that repeats from one that knows better. */
  pieces: { readonly size: number; readonly digest: string }[];
  /** The remote said that nothing follows. */
  ended: boolean;
}

/** An artifact that is kept as files, one for each kind of content in it. */
interface FileArtifact {
  /** By kind of content. */
  readonly files: Map<string, KeptFile>;
  /** Ids given so far. */
  count: number;
  lastId: string | undefined;
  /** The artifact's own name, from the last update that had one. */
  name: string | undefined;
}

/** The artifacts of a task that are files. */
export class FileArtifacts {
  readonly #artifacts = new Map<string, FileArtifact>();

  #distrust = false;

  /** From now on snapshots are believed only where they go on, and repeat nothing. */
  distrust(): void {
    this.#distrust = true;
  }

  has(artifactId: string): boolean {
    return this.#artifacts.has(artifactId);
  }

  /** An update on the stream. */
  update(artifact: Artifact, parts: readonly Part[], append: boolean, last: boolean): RemoteSignal[] {
    const contents = parts.flatMap((part) => {
      const content = partBytes(part);
      return content === undefined ? [] : [{ part, ...content }];
    });
    let kept = this.#artifacts.get(artifact.artifactId);
    if (kept === undefined) {
      // Nothing is known of it yet, neither content nor kind.
      if (contents.length === 0) return [];
      kept = { files: new Map(), count: 0, lastId: undefined, name: undefined };
      this.#artifacts.set(artifact.artifactId, kept);
    }
    if (contents.length === 0) {
      if (!last || kept.lastId === undefined) return [];
      return [
        { type: "artifact", chunk: { id: kept.lastId, mode: "append", bytes: new Uint8Array(), last: true } },
      ];
    }
    kept.name = cleanName(artifact.name) ?? kept.name;
    const started = new Set<string>();
    const pieces = contents.map(({ part, bytes, mimeType }) => {
      const { file, created } = fileOf(
        kept,
        artifact,
        part,
        mimeType,
        (known) => append || started.has(known.id),
      );
      const { id } = file;
      const replace = created || (!append && !started.has(id));
      started.add(id);
      if (replace) Object.assign(file, emptyFile());
      take(file, bytes);
      kept.lastId = id;
      return { id, file, name: cleanName(part.filename) ?? kept.name, mimeType, replace, bytes };
    });
    const lastPiece = new Map(pieces.map(({ id }, index) => [id, index]));
    return pieces.map(({ id, file, name, mimeType, replace, bytes }, index) => {
      const ends = last && lastPiece.get(id) === index;
      if (ends) file.ended = true;
      return {
        type: "artifact",
        chunk: {
          id,
          ...defined({ name }),
          mimeType,
          mode: replace ? "replace" : "append",
          bytes,
          last: ends,
        },
      };
    });
  }

  /** What came before `next` according to `stored`, where `next` may stand once or twice already. */
  gap(stored: Artifact, next: Artifact): RemoteSignal[] {
    const known = this.#artifacts.get(stored.artifactId);
    const [shown] = wholeFiles(new FileArtifacts().update(stored, stored.parts, false, false));
    const [chunk] = wholeFiles(new FileArtifacts().update(next, next.parts, false, false));
    if (shown === undefined || chunk === undefined || shown.id !== chunk.id) return [];
    const file = [...(known?.files.values() ?? [])].find(({ id }) => id === shown.id);
    const missed = file === undefined ? shown.bytes : beyond(file, shown.bytes);
    if (typeof missed === "string") return [];
    const buffer = Buffer.from(missed);
    const twice = buffer.lastIndexOf(Buffer.concat([chunk.bytes, chunk.bytes]));
    const place = twice >= 0 ? twice : buffer.lastIndexOf(chunk.bytes);
    const bytes = place >= 0 ? buffer.subarray(0, place) : buffer;
    if (bytes.length === 0) return [];
    const part = stored.parts.find(({ content }) => content?.$case === "raw" || content?.$case === "text");
    if (part === undefined) return [];
    const content = { $case: "raw" as const, value: bytes };
    return this.update(stored, [part.content?.$case === "raw" ? { ...part, content } : part], true, false);
  }

  /** The artifact as a task's snapshot shows it: what goes beyond the bytes that came is added, anything else is not believed. */
  snapshot(artifact: Artifact, parts: readonly Part[], last: boolean): RemoteSignal[] {
    const known = this.#artifacts.get(artifact.artifactId);
    if (known === undefined) return this.update(artifact, parts, false, last);
    // A scratch copy tells which of its files each part would belong to.
    const shown = wholeFiles(new FileArtifacts().update(artifact, parts, false, last));
    const files = new Map([...known.files.values()].map((file) => [file.id, file]));
    const signals: RemoteSignal[] = [];
    let unknown = false;
    for (const chunk of shown) {
      const file = files.get(chunk.id);
      if (file === undefined) {
        unknown = true;
        continue;
      }
      const rest = beyond(file, chunk.bytes);
      if (rest === "stale") continue;
      if (this.#distrust && (rest === "other" || repeats(file, chunk.bytes))) continue;
      if (rest === "other") {
        Object.assign(file, emptyFile());
        take(file, chunk.bytes);
        signals.push({ type: "artifact", chunk: { ...chunk, mode: "replace" } });
      } else if (rest.length > 0 || (last && !file.ended)) {
        take(file, rest);
        signals.push({ type: "artifact", chunk: { ...chunk, mode: "append", bytes: rest, last } });
      } else continue;
      file.ended = last;
    }
    // Files of an artifact that was shown in part only: their ids cannot be told without the order in which they came.
    return unknown ? this.update(artifact, parts, false, last) : signals;
  }
}

/** How much of `bytes` is news after what came. */
function beyond(file: KeptFile, bytes: Uint8Array): Uint8Array | "stale" | "other" {
  if (bytes.length < file.size) return "stale";
  if (digest(bytes.subarray(0, file.size)) === file.hash.copy().digest("hex"))
    return bytes.subarray(file.size);
  return repeats(file, bytes) ? "stale" : "other";
}

function repeats(file: KeptFile, bytes: Uint8Array): boolean {
  let place = 0;
  let repeated = false;
  for (const piece of file.pieces) {
    if (piece.size === 0) continue;
    const next = () => digest(bytes.subarray(place, place + piece.size)) === piece.digest;
    if (!next()) return false;
    place += piece.size;
    while (place + piece.size <= bytes.length && next()) {
      place += piece.size;
      repeated = true;
    }
  }
  return repeated;
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function emptyFile(): Omit<KeptFile, "id"> {
  return { size: 0, hash: createHash("sha256"), pieces: [], ended: false };
}

function take(file: KeptFile, bytes: Uint8Array): void {
  file.size += bytes.length;
  file.hash.update(bytes);
  file.pieces.push({ size: bytes.length, digest: digest(bytes) });
}

/** The chunks of one update, joined for each file. */
function wholeFiles(signals: readonly RemoteSignal[]): RemoteArtifactChunk[] {
  const files = new Map<string, RemoteArtifactChunk>();
  for (const signal of signals) {
    if (signal.type !== "artifact") continue;
    const { chunk } = signal;
    const before = files.get(chunk.id);
    files.set(
      chunk.id,
      before === undefined ? chunk : { ...before, bytes: Buffer.concat([before.bytes, chunk.bytes]) },
    );
  }
  return [...files.values()];
}

/**
 * The file that `part` belongs to. Text after text is one file; a picture after text is another. JSON values cannot be joined, so
 * each has its own.
 */
function fileOf(
  kept: FileArtifact,
  artifact: Artifact,
  part: Part,
  mimeType: string,
  joins: (known: KeptFile) => boolean,
): { readonly file: KeptFile; readonly created: boolean } {
  const kind = `${part.content?.$case}\n${mimeType}\n${part.filename}`;
  const known = kept.files.get(kind);
  if (known && !(part.content?.$case === "data" && joins(known))) return { file: known, created: false };
  kept.count++;
  const base = safeId(artifact.artifactId || "artifact");
  const file = { id: kept.count === 1 ? base : `${base}-${kept.count}`, ...emptyFile() };
  kept.files.set(known ? `${kind}\n${kept.count}` : kind, file);
  return { file, created: true };
}
