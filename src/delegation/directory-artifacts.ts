import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "../core/clock.js";
import type { ArtifactStore, StoredArtifact } from "./artifacts.js";

/** Options of {@link createDirectoryArtifactStore}. */
export interface DirectoryArtifactOptions {
  /** Made when it is missing, readable by nobody else. */
  readonly directory: string;
  readonly clock?: Clock;
}

/** An {@link ArtifactStore} that outlives its process. */
export interface DirectoryArtifactStore extends ArtifactStore {
  /** Forgets the artifacts of delegations, and deletes the bytes that nobody refers to any more. */
  drop(delegationIds: readonly string[]): Promise<void>;
}

/** Bytes that were stored within this time stay, in milliseconds: another process may be about to refer to them. */
const FRESH_MS = 3_600_000;

/**
 * Keeps bytes under their sha256, so that the same bytes are there once, and a list of artifacts for each delegation. Several
 * processes may use one directory.
 */
export function createDirectoryArtifactStore(options: DirectoryArtifactOptions): DirectoryArtifactStore {
  return new DirectoryArtifacts(options.directory, options.clock ?? systemClock);
}

type Described = StoredArtifact["description"];

class DirectoryArtifacts implements DirectoryArtifactStore {
  /** One change after the other: each replaces a delegation's whole list. */
  #last: Promise<unknown> = Promise.resolve();
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly directory: string,
    private readonly clock: Clock,
  ) {}

  put(delegationId: string, { description, bytes }: StoredArtifact): Promise<void> {
    return this.#inTurn(async () => {
      // The bytes first: what is listed is there.
      await this.#store(digestOf(bytes), bytes);
      const others = (await this.#list(delegationId)).filter(({ id }) => id !== description.id);
      await this.#write(
        this.#listFile(delegationId),
        JSON.stringify({ delegationId, artifacts: [...others, description] }),
      );
    });
  }

  async get(delegationId: string, wanted: string): Promise<StoredArtifact | undefined> {
    await this.#last;
    const list = await this.#list(delegationId);
    const description = list.find(({ id }) => id === wanted) ?? list.find(({ name }) => name === wanted);
    if (description === undefined) return undefined;
    const bytes = await readFile(this.#bytesFile(description.sha256)).catch(missing);
    // A power cut may leave a file without its content.
    return bytes === undefined || digestOf(bytes) !== description.sha256 ? undefined : { description, bytes };
  }

  drop(delegationIds: readonly string[]): Promise<void> {
    return this.#inTurn(async () => {
      for (const id of delegationIds) await rm(this.#listFile(id), { force: true });
      await this.#sweep();
    });
  }

  async #sweep(): Promise<void> {
    // It looks at everything, and what is younger would stay anyway.
    if (this.clock.now() - this.#sweptAt < FRESH_MS) return;
    this.#sweptAt = this.clock.now();
    const used = new Set<string>();
    for (const name of await names(join(this.directory, "delegations")))
      for (const { sha256 } of await readList(join(this.directory, "delegations", name))) used.add(sha256);
    for (const start of await names(join(this.directory, "artifacts"))) {
      const folder = join(this.directory, "artifacts", start);
      for (const rest of await names(folder)) {
        if (used.has(start + rest)) continue;
        const file = join(folder, rest);
        const stored = await stat(file).catch(missing);
        if (stored !== undefined && stored.mtimeMs < this.clock.now() - FRESH_MS)
          await rm(file, { force: true });
      }
    }
  }

  async #store(sha256: string, bytes: Uint8Array): Promise<void> {
    const file = this.#bytesFile(sha256);
    const now = new Date(this.clock.now());
    const known = await stat(file).catch(missing);
    if (known?.size !== bytes.byteLength) await this.#write(file, bytes);
    await utimes(file, now, now);
  }

  #list(delegationId: string): Promise<readonly Described[]> {
    return readList(this.#listFile(delegationId));
  }

  /** An id may be anything; its digest is a file name. */
  #listFile(delegationId: string): string {
    return join(this.directory, "delegations", `${digestOf(Buffer.from(delegationId))}.json`);
  }

  #bytesFile(sha256: string): string {
    return join(this.directory, "artifacts", sha256.slice(0, 2), sha256.slice(2));
  }

  /** Either the whole file is there, or what was there before. */
  async #write(file: string, content: string | Uint8Array): Promise<void> {
    await mkdir(join(file, ".."), { recursive: true, mode: 0o700 });
    const draft = `${file}.${randomUUID()}`;
    try {
      await writeFile(draft, content, { mode: 0o600 });
      await rename(draft, file);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

async function readList(file: string): Promise<readonly Described[]> {
  const text = await readFile(file, "utf8").catch(missing);
  if (text === undefined) return [];
  try {
    const list: unknown = JSON.parse(text);
    const { artifacts } = Object(list);
    return Array.isArray(artifacts) ? artifacts.filter(isDescription) : [];
  } catch {
    return [];
  }
}

function isDescription(value: unknown): value is Described {
  const { id, name, mimeType, uri, size, sha256 } = Object(value);
  const texts = [id, name, mimeType, uri].every((text) => typeof text === "string");
  return texts && Number.isSafeInteger(size) && /^[0-9a-f]{64}$/.test(sha256);
}

async function names(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(missing)) ?? [];
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function missing(error: unknown): undefined {
  if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
    return undefined;
  throw error;
}
