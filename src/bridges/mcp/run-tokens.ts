import { createHash, timingSafeEqual } from "node:crypto";

/** Knows which run a bearer token belongs to. Keeps only hashes, so that a dump of memory or a log gives no token away. */
export class RunTokens<Entry> {
  readonly #entries = new Map<string, { readonly hash: Buffer; readonly entry: Entry }>();

  /** @returns what revokes the token again; idempotent. */
  add(token: string, entry: Entry): () => void {
    const hash = digest(token);
    const key = hash.toString("hex");
    this.#entries.set(key, { hash, entry });
    return () => {
      this.#entries.delete(key);
    };
  }

  /** @returns the entry of a token that is valid now. */
  find(token: string): Entry | undefined {
    const hash = digest(token);
    const found = this.#entries.get(hash.toString("hex"));
    return found !== undefined && timingSafeEqual(found.hash, hash) ? found.entry : undefined;
  }
}

function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
