import type { Artifact, Part } from "@a2a-js/sdk";
import type { RemoteSignal } from "../../delegation/remote.js";
import { cleanName, partBytes, safeId } from "./words.js";

/** Artifacts of this name or id hold what the agent says. `response.txt` is Mastra's name for it. */
const SPOKEN: ReadonlySet<string> = new Set(["assistant-output", "response.txt"]);
/** A name that ends like this belongs to a file. */
const FILE_NAME = /\.[A-Za-z][A-Za-z0-9]{0,9}$/;

/** An artifact that is shown as text while it grows. */
interface SpokenArtifact {
  /** Everything that the current message says. */
  text: string;
  /** Raised when the remote replaces the text by another: a new message begins, the old one stays visible. */
  revision: number;
}

interface KeptFile {
  readonly id: string;
  /** Bytes so far. */
  size: number;
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

/** Turns artifact updates into text and artifact signals, and keeps what it needs to tell news from repetition. */
export class ArtifactAssembler {
  readonly #spoken = new Map<string, SpokenArtifact>();
  readonly #files = new Map<string, FileArtifact>();

  /** An update on the stream: `append` adds, otherwise what was there is replaced. An unknown id is created either way. */
  update(artifact: Artifact, append: boolean, last: boolean): RemoteSignal[] {
    const signals: RemoteSignal[] = [];
    if (this.#isSpoken(artifact)) {
      const said = textOf(artifact.parts);
      if (said !== undefined || !append) signals.push(...this.#say(artifact.artifactId, said ?? "", append));
      const rest = artifact.parts.filter((part) => part.content?.$case !== "text");
      if (rest.length > 0) signals.push(...this.#keep(artifact, rest, append, last));
    } else {
      signals.push(...this.#keep(artifact, artifact.parts, append, last));
    }
    return signals;
  }

  /**
   * The artifact as a task's snapshot shows it. Servers exist whose snapshots lag behind their stream, so it counts only where it
   * says more than what was seen.
   */
  snapshot(artifact: Artifact, last: boolean): RemoteSignal[] {
    if (this.#isSpoken(artifact)) {
      const known = this.#spoken.get(artifact.artifactId)?.text ?? "";
      const text = textOf(artifact.parts) ?? "";
      if (known !== "" && known.startsWith(text)) return [];
      return this.update(artifact, false, last);
    }
    const known = this.#files.get(artifact.artifactId);
    const size = artifact.parts.reduce((sum, part) => sum + (partBytes(part)?.bytes.length ?? 0), 0);
    const seen = known ? [...known.files.values()].reduce((sum, file) => sum + file.size, 0) : -1;
    return size > seen ? this.update(artifact, false, last) : [];
  }

  #isSpoken(artifact: Artifact): boolean {
    if (this.#spoken.has(artifact.artifactId)) return true;
    if (this.#files.has(artifact.artifactId)) return false;
    if (SPOKEN.has(artifact.name) || SPOKEN.has(artifact.artifactId)) return true;
    if (FILE_NAME.test(artifact.name) || artifact.parts.length === 0) return false;
    return artifact.parts.every(
      (part) =>
        part.content?.$case === "text" &&
        part.filename === "" &&
        (part.mediaType === "" || /^text\/plain\b/i.test(part.mediaType)),
    );
  }

  #say(artifactId: string, text: string, append: boolean): RemoteSignal[] {
    let artifact = this.#spoken.get(artifactId);
    if (artifact === undefined) {
      artifact = { text: "", revision: 1 };
      this.#spoken.set(artifactId, artifact);
    }
    let delta = text;
    if (append) {
      artifact.text += text;
    } else if (text.startsWith(artifact.text)) {
      delta = text.slice(artifact.text.length);
      artifact.text = text;
    } else {
      artifact.revision++;
      artifact.text = text;
    }
    if (delta === "") return [];
    const id = safeId(artifactId || "text");
    return [{ type: "text", messageId: artifact.revision === 1 ? id : `${id}-${artifact.revision}`, delta }];
  }

  #keep(artifact: Artifact, parts: readonly Part[], append: boolean, last: boolean): RemoteSignal[] {
    const contents = parts.flatMap((part) => {
      const content = partBytes(part);
      return content === undefined ? [] : [{ part, ...content }];
    });
    let kept = this.#files.get(artifact.artifactId);
    if (kept === undefined) {
      // Nothing is known of it yet, neither content nor kind.
      if (contents.length === 0) return [];
      kept = { files: new Map(), count: 0, lastId: undefined, name: undefined };
      this.#files.set(artifact.artifactId, kept);
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
      file.size = replace ? bytes.length : file.size + bytes.length;
      kept.lastId = id;
      return { id, name: cleanName(part.filename) ?? kept.name, mimeType, replace, bytes };
    });
    const lastPiece = new Map(pieces.map(({ id }, index) => [id, index]));
    return pieces.map(({ id, name, mimeType, replace, bytes }, index) => ({
      type: "artifact",
      chunk: {
        id,
        ...(name === undefined ? {} : { name }),
        mimeType,
        mode: replace ? "replace" : "append",
        bytes,
        last: last && lastPiece.get(id) === index,
      },
    }));
  }
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
  const file = { id: kept.count === 1 ? base : `${base}-${kept.count}`, size: 0 };
  kept.files.set(known ? `${kind}\n${kept.count}` : kind, file);
  return { file, created: true };
}

/** The text parts, joined with nothing between them; `undefined` when there is none. */
function textOf(parts: readonly Part[]): string | undefined {
  const texts = parts.flatMap((part) => (part.content?.$case === "text" ? [part.content.value] : []));
  return texts.length === 0 ? undefined : texts.join("");
}
