import { createHash } from "node:crypto";
import { defined } from "../core/defined.js";
import { startOf } from "../core/text.js";
import type { ArtifactDescription, ArtifactError } from "./events.js";
import type { DelegationPolicy } from "./policy.js";
import type { RemoteArtifactChunk } from "./remote.js";

/** An artifact with its bytes. */
export interface StoredArtifact {
  readonly description: ArtifactDescription;
  readonly bytes: Uint8Array;
}

/** Keeps the bytes of artifacts out of events and results. */
export interface ArtifactStore {
  /** Keeps or replaces an artifact. */
  put(delegationId: string, artifact: StoredArtifact): Promise<void>;
  /** @param artifact its id, or its name. */
  get(delegationId: string, artifact: string): Promise<StoredArtifact | undefined>;
}

/** @param maxBytes bytes of all artifacts; beyond it the oldest delegations lose theirs. Default 256 MiB. */
export function createMemoryArtifactStore(maxBytes = 268_435_456): ArtifactStore {
  const delegations = new Map<string, Map<string, StoredArtifact>>();
  let total = 0;
  const sizeOf = (artifacts: Map<string, StoredArtifact>) =>
    [...artifacts.values()].reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  return {
    async put(delegationId, artifact) {
      const artifacts = delegations.get(delegationId) ?? new Map<string, StoredArtifact>();
      const { id } = artifact.description;
      total += artifact.bytes.byteLength - (artifacts.get(id)?.bytes.byteLength ?? 0);
      artifacts.set(id, artifact);
      delegations.set(delegationId, artifacts);
      for (const [oldest, theirs] of delegations) {
        if (total <= maxBytes || oldest === delegationId) break;
        total -= sizeOf(theirs);
        delegations.delete(oldest);
      }
    },
    async get(delegationId, wanted) {
      const artifacts = delegations.get(delegationId);
      return (
        artifacts?.get(wanted) ??
        [...(artifacts?.values() ?? [])].find(({ description }) => description.name === wanted)
      );
    },
  };
}

/** What became of a chunk: a stored artifact, a refusal, or nothing to tell yet. */
export type Collected =
  | { readonly artifact: ArtifactDescription; readonly error?: ArtifactError; readonly data?: unknown }
  | undefined;

interface Draft {
  readonly name: string;
  readonly mimeType: string;
  chunks: Uint8Array[];
  size: number;
  /** What is collected is already in the store. */
  published: boolean;
  /** How often it was published, and with how many bytes the last time. */
  publications: number;
  publishedSize: number;
  refused?: ArtifactError;
}

const PREVIEW_BYTES = 2_048;

/** A file that is added to after that many "last" pieces is published again when it has doubled, or at the end. */
const MAX_PUBLICATIONS = 16;

/** Assembles the artifacts of one delegation. Limits are checked on what has accumulated, before anything is published. */
export class ArtifactCollector {
  readonly #drafts = new Map<string, Draft>();
  #full = false;

  constructor(
    private readonly delegationId: string,
    private readonly policy: Pick<
      DelegationPolicy,
      "maxArtifactBytes" | "maxArtifacts" | "allowRemoteArtifacts"
    > &
      Partial<Pick<DelegationPolicy, "responseMode" | "maxResultBytes">>,
    private readonly store: ArtifactStore,
  ) {}

  /** Takes a chunk. Publishes when the remote says that it was the last, or when a whole artifact came at once. */
  async add(chunk: RemoteArtifactChunk): Promise<Collected> {
    // One refusal tells that there are too many; a remote must not fill the journal with more of them.
    if (this.#full && !this.#drafts.has(chunk.id)) return undefined;
    const draft = this.#draft(chunk);
    if (draft.refused !== undefined) return undefined;
    if (chunk.mode === "replace") {
      draft.chunks = [];
      draft.size = 0;
    }
    draft.chunks.push(chunk.bytes);
    draft.size += chunk.bytes.byteLength;
    draft.published = false;
    const refusal = this.#refusal(draft);
    if (refusal !== undefined) {
      draft.refused = refusal;
      draft.chunks = [];
      if (this.#drafts.size > this.policy.maxArtifacts) this.#full = true;
      return { artifact: this.#describe(chunk.id, draft, new Uint8Array()), error: refusal };
    }
    if (chunk.mode === "replace") return this.#publish(chunk.id, draft);
    // Each publication takes the whole file, and a remote may call each byte the last.
    const due = draft.publications < MAX_PUBLICATIONS || draft.size >= 2 * draft.publishedSize;
    return chunk.last && due ? this.#publish(chunk.id, draft) : undefined;
  }

  /** Publishes what never got a last chunk. */
  async finish(): Promise<NonNullable<Collected>[]> {
    const published: NonNullable<Collected>[] = [];
    for (const [id, draft] of this.#drafts) {
      if (!draft.published && draft.refused === undefined) published.push(await this.#publish(id, draft));
    }
    return published;
  }

  /** The delegation is over: the bytes belong to the store alone, which has a limit. */
  discard(): void {
    this.#drafts.clear();
  }

  #draft(chunk: RemoteArtifactChunk): Draft {
    const existing = this.#drafts.get(chunk.id);
    if (existing !== undefined) return existing;
    const mimeType = safeMimeType(chunk.mimeType);
    const draft: Draft = {
      name: this.#uniqueName(chunk.name),
      mimeType,
      chunks: [],
      size: 0,
      published: false,
      publications: 0,
      publishedSize: 0,
    };
    this.#drafts.set(chunk.id, draft);
    return draft;
  }

  #refusal(draft: Draft): ArtifactError | undefined {
    const { allowRemoteArtifacts, maxArtifacts, maxArtifactBytes } = this.policy;
    if (!allowRemoteArtifacts)
      return { code: "policy_denied", message: "The host keeps no artifacts of this agent." };
    if (this.#drafts.size > maxArtifacts) {
      return { code: "policy_denied", message: `More than ${maxArtifacts} artifacts.` };
    }
    if (draft.size <= maxArtifactBytes) return undefined;
    return {
      code: "artifact_too_large",
      message: `Larger than the ${maxArtifactBytes} bytes that the host keeps.`,
    };
  }

  async #publish(id: string, draft: Draft): Promise<NonNullable<Collected>> {
    const bytes = Buffer.concat(draft.chunks);
    draft.chunks = [bytes];
    draft.published = true;
    draft.publications++;
    draft.publishedSize = draft.size;
    const artifact = this.#describe(id, draft, bytes);
    await this.store.put(this.delegationId, { description: artifact, bytes });
    const data = this.#data(draft, bytes);
    return data === undefined ? { artifact } : { artifact, data };
  }

  /** What a JSON file says, when results shall hold it and it could fit. */
  #data({ mimeType }: Draft, bytes: Uint8Array): unknown {
    const { responseMode, maxResultBytes = 0 } = this.policy;
    if (responseMode !== "structured" || bytes.byteLength > maxResultBytes) return undefined;
    if (!/^application\/(.+\+)?json$/.test(mimeType)) return undefined;
    try {
      return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
      return undefined;
    }
  }

  #describe(id: string, { name, mimeType, size }: Draft, bytes: Uint8Array): ArtifactDescription {
    const preview = textPreview(bytes, mimeType);
    return {
      id,
      name,
      mimeType,
      uri: `host://delegations/${this.delegationId}/artifacts/${encodeURIComponent(name)}`,
      size,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      ...defined({ preview }),
    };
  }

  #uniqueName(wanted: string | undefined): string {
    const clean = safeName(wanted) ?? `artifact-${this.#drafts.size + 1}`;
    const taken = new Set([...this.#drafts.values()].map(({ name }) => name));
    if (!taken.has(clean)) return clean;
    const dot = clean.lastIndexOf(".");
    const [stem, extension] = dot > 0 ? [clean.slice(0, dot), clean.slice(dot)] : [clean, ""];
    for (let number = 2; ; number++) {
      const name = `${stem}-${number}${extension}`;
      if (!taken.has(name)) return name;
    }
  }
}

/** A remote's file name without folders, control characters and leading dots; `undefined` when nothing is left. */
function safeName(name: string | undefined): string | undefined {
  const base = (name ?? "").split(/[\\/]/).at(-1) ?? "";
  const clean = base
    .replace(/[\p{Cc}\p{Surrogate}\p{Bidi_Control}]/gu, "")
    .replace(/^[\s.]+/, "")
    .trim();
  return clean === "" ? undefined : startOf(clean, 200);
}

function safeMimeType(mimeType: string | undefined): string {
  // Parameters such as a charset are left out: what they say is the remote's word, and nobody here acts on it.
  const type = mimeType?.split(";")[0]?.trim() ?? "";
  return /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(type) ? type : "application/octet-stream";
}

function textPreview(bytes: Uint8Array, mimeType: string): string | undefined {
  if (!/^text\/|json|xml|yaml|javascript/.test(mimeType) || bytes.byteLength === 0) return undefined;
  // `stream` leaves out a character that is cut in two at the end.
  return new TextDecoder().decode(bytes.subarray(0, PREVIEW_BYTES), { stream: true });
}
