import { createHash } from "node:crypto";
import { createToken } from "../core/ids.js";

/** A file that may be fetched. */
export interface LinkedArtifact {
  readonly delegationId: string;
  readonly artifactId: string;
}

interface Link extends LinkedArtifact {
  readonly reader: string;
}

/**
 * Links by which remotes fetch files of this host. Each is a secret of 256 bits for one file and one delegation, and ends with it;
 * only hashes are kept.
 */
export class ArtifactLinks {
  readonly #links = new Map<string, Link>();
  readonly #byReader = new Map<string, string[]>();

  /** @param base what a token is put behind, such as `https://host.example/shared/`. */
  constructor(private readonly base: string) {}

  /** Makes a link for the remote of the delegation `reader`. */
  issue(reader: string, { delegationId, artifactId }: LinkedArtifact): string {
    const token = createToken();
    const key = hash(token);
    this.#links.set(key, { delegationId, artifactId, reader });
    this.#byReader.set(reader, [...(this.#byReader.get(reader) ?? []), key]);
    return `${this.base}${token}`;
  }

  /** The file behind a token, as long as the delegation that got it goes on. */
  find(token: string): LinkedArtifact | undefined {
    return this.#links.get(hash(token));
  }

  /** The delegation `reader` is over. */
  revoke(reader: string): void {
    for (const key of this.#byReader.get(reader) ?? []) this.#links.delete(key);
    this.#byReader.delete(reader);
  }
}

function hash(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
