import type { Artifact, Part } from "@a2a-js/sdk";
import type { RemoteSignal } from "../../delegation/remote.js";
import { safeId } from "../http/words.js";
import { FileArtifacts } from "./file-artifacts.js";
import { isRepeating } from "./repeats.js";
import { adkKind, isTrace, type ToolTraffic, traceThoughts } from "./tool-traffic.js";

/** Artifacts of this name or id hold what the agent says. `response.txt` is Mastra's name for it. */
const SPOKEN: ReadonlySet<string> = new Set(["assistant-output", "response.txt"]);
/** A name that ends like this belongs to a file. */
const FILE_NAME = /\.[A-Za-z][A-Za-z0-9]{0,9}$/;

/** An artifact that is shown as text while it grows. */
interface SpokenArtifact {
  /** Everything that the current message says. */
  text: string;
  /** How it came, to tell a store that repeats from one that knows better. */
  chunks: string[];
  /** Raised when the remote replaces the text by another: a new message begins, the old one stays visible. */
  revision: number;
}

/** Turns artifact updates into signals, and keeps what it needs to tell news from repetition. */
export class ArtifactAssembler {
  readonly #spoken = new Map<string, SpokenArtifact>();
  readonly #thoughts = new Map<string, string>();
  readonly #files = new FileArtifacts();

  #distrust = false;

  constructor(private readonly tools: ToolTraffic) {}

  /** Everything that the agent said, in the order in which it began. */
  get texts(): string[] {
    return [...this.#spoken.values()].map(({ text }) => text).filter((text) => text.trim() !== "");
  }

  /** An update on the stream: `append` adds, otherwise what was there is replaced. An unknown id is created either way. */
  update(artifact: Artifact, append: boolean, last: boolean): RemoteSignal[] {
    if (this.tools.isScreen(artifact.artifactId) || this.#isEcho(artifact)) return [];
    if (isTrace(artifact)) return this.#trace(artifact, append);
    const { parts, signals } = this.#traffic(artifact, append);
    if (parts.length === 0 && artifact.parts.length > 0) return signals;
    if (this.#isSpoken(artifact, parts)) {
      const said = textOf(parts);
      if (said !== undefined || !append) signals.push(...this.#say(artifact.artifactId, said ?? "", append));
      const rest = parts.filter((part) => part.content?.$case !== "text");
      if (rest.length > 0) signals.push(...this.#files.update(artifact, rest, append, last));
    } else {
      signals.push(...this.#files.update(artifact, parts, append, last));
    }
    return signals;
  }

  /**
   * The artifact as a task's snapshot shows it. Servers exist whose snapshots lag behind their stream, or repeat what it said, so
   * it counts only where it says more than what was seen.
   */
  snapshot(artifact: Artifact, last: boolean): RemoteSignal[] {
    if (this.tools.isScreen(artifact.artifactId) || this.#isEcho(artifact)) return [];
    if (isTrace(artifact)) return this.#trace(artifact, false);
    const { parts, signals } = this.#traffic(artifact, false);
    if (parts.length === 0 && artifact.parts.length > 0) return signals;
    if (!this.#isSpoken(artifact, parts)) return [...signals, ...this.#files.snapshot(artifact, parts, last)];
    const text = textOf(parts) ?? "";
    if (this.#believes(artifact.artifactId, text))
      signals.push(...this.#say(artifact.artifactId, text, false));
    const rest = parts.filter((part) => part.content?.$case !== "text");
    if (rest.length > 0) signals.push(...this.#files.snapshot(artifact, rest, last));
    return signals;
  }

  /**
   * What came between the last snapshot and `next`, the first event of a subscription that began without one.
   * @param stored the artifact as the task shows it now, `next` perhaps among it
   */
  gap(stored: Artifact, next: Artifact | undefined): RemoteSignal[] {
    if (next?.artifactId !== stored.artifactId) return this.snapshot(stored, false);
    if (!this.#isSpoken(stored, stored.parts)) return this.#files.gap(stored, next);
    const known = this.#spoken.get(stored.artifactId)?.text ?? "";
    const text = textOf(stored.parts) ?? "";
    const chunk = textOf(next.parts) ?? "";
    if (!text.startsWith(known)) return [];
    const missed = text.slice(known.length);
    const twice = missed.lastIndexOf(chunk + chunk);
    const place = twice >= 0 ? twice : missed.lastIndexOf(chunk);
    return this.#say(stored.artifactId, place >= 0 ? missed.slice(0, place) : missed, true);
  }

  /** From now on snapshots are believed only where they go on, and repeat nothing. */
  distrust(): void {
    this.#distrust = true;
    this.#files.distrust();
  }

  #believes(artifactId: string, text: string): boolean {
    const known = this.#spoken.get(artifactId);
    if (known === undefined) return true;
    if (this.#distrust) return text.startsWith(known.text) && !isRepeating(text, known.chunks);
    return text.startsWith(known.text) || !(known.text.startsWith(text) || isRepeating(text, known.chunks));
  }

  /** What an agent of Troupe's says once more at its end, in a form for programs: the words were heard already. */
  #isEcho({ artifactId, parts }: Artifact): boolean {
    const content = parts[0]?.content;
    return (
      artifactId === "agent-adaptor-result" &&
      content?.$case === "data" &&
      (this.#spoken.size > 0 || Object(content.value).status !== "completed")
    );
  }

  #trace(artifact: Artifact, append: boolean): RemoteSignal[] {
    const thoughts = traceThoughts(artifact);
    return thoughts === undefined
      ? this.tools.trace(artifact)
      : this.#think(artifact.artifactId, thoughts, append);
  }

  /** What is no answer: thoughts and tool traffic become signals of their own, the rest is given back. */
  #traffic(artifact: Artifact, append: boolean): { parts: readonly Part[]; signals: RemoteSignal[] } {
    if (artifact.parts.every((part) => part.metadata === undefined))
      return { parts: artifact.parts, signals: [] };
    const signals: RemoteSignal[] = [];
    const parts: Part[] = [];
    let thoughts: string | undefined;
    for (const part of artifact.parts) {
      const kind = adkKind(part);
      if (kind === "thought") {
        if (part.content?.$case === "text") thoughts = (thoughts ?? "") + part.content.value;
      } else if (kind !== undefined) signals.push(...this.tools.adk(part, kind));
      else parts.push(part);
    }
    if (thoughts !== undefined) signals.unshift(...this.#think(artifact.artifactId, thoughts, append));
    return { parts, signals };
  }

  #think(artifactId: string, thoughts: string, append: boolean): RemoteSignal[] {
    const known = this.#thoughts.get(artifactId) ?? "";
    this.#thoughts.set(artifactId, append ? known + thoughts : thoughts);
    // Of a piece that is added nothing else is looked at.
    const delta = !append && thoughts.startsWith(known) ? thoughts.slice(known.length) : thoughts;
    if (delta === "") return [];
    return [{ type: "reasoning", messageId: `${safeId(artifactId || "thought")}-thought`, delta }];
  }

  #isSpoken(artifact: Artifact, parts: readonly Part[]): boolean {
    if (this.#spoken.has(artifact.artifactId)) return true;
    if (this.#files.has(artifact.artifactId)) return false;
    if (SPOKEN.has(artifact.name) || SPOKEN.has(artifact.artifactId)) return true;
    if (FILE_NAME.test(artifact.name) || parts.length === 0) return false;
    return parts.every(
      (part) =>
        part.content?.$case === "text" &&
        part.filename === "" &&
        (part.mediaType === "" || /^text\/plain\b/i.test(part.mediaType)),
    );
  }

  #say(artifactId: string, text: string, append: boolean): RemoteSignal[] {
    let artifact = this.#spoken.get(artifactId);
    if (artifact === undefined) {
      artifact = { text: "", chunks: [], revision: 1 };
      this.#spoken.set(artifactId, artifact);
    }
    let delta = text;
    if (append) {
      artifact.text += text;
      artifact.chunks.push(text);
    } else if (text.startsWith(artifact.text)) {
      delta = text.slice(artifact.text.length);
      artifact.text = text;
      if (delta !== "") artifact.chunks.push(delta);
    } else {
      artifact.revision++;
      artifact.text = text;
      artifact.chunks = [text];
    }
    if (delta === "") return [];
    const id = safeId(artifactId || "text");
    return [{ type: "text", messageId: artifact.revision === 1 ? id : `${id}-${artifact.revision}`, delta }];
  }
}

/** The text parts, joined with nothing between them; `undefined` when there is none. */
function textOf(parts: readonly Part[]): string | undefined {
  const texts = parts.flatMap((part) => (part.content?.$case === "text" ? [part.content.value] : []));
  return texts.length === 0 ? undefined : texts.join("");
}
