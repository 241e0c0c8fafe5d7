import type { RedisConnection } from "./redis-connection.js";
import type { RedisKeys } from "./redis-keys.js";

/** A file with what is known of it. */
export interface KeptFile {
  readonly id: string;
  /** What describes it, as JSON. */
  readonly description: string;
  /** Names its bytes: the same for the same. */
  readonly sha256: string;
}

/** Keeps files of owners beside a journal, the same bytes once. They go by themselves when their time is over. */
export class RedisFiles {
  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    private readonly retentionMs: number,
  ) {}

  async put(owner: string, file: KeptFile, bytes: Uint8Array): Promise<void> {
    const [key, life] = [this.keys.files(owner), String(this.retentionMs)];
    // The bytes first: what is listed is there.
    const text = Buffer.from(bytes).toString("base64");
    await this.connection.command(["SET", this.keys.bytes(file.sha256), text, "PX", life]);
    await this.connection.command(["HSET", key, file.id, JSON.stringify(file)]);
    await this.connection.command(["PEXPIRE", key, life]);
  }

  async list(owner: string): Promise<KeptFile[]> {
    const files = await this.connection.command(["HVALS", this.keys.files(owner)]);
    return Array.isArray(files) ? files.map((json) => JSON.parse(String(json)) as KeptFile) : [];
  }

  async bytes(sha256: string): Promise<Uint8Array | undefined> {
    const text = await this.connection.command(["GET", this.keys.bytes(sha256)]);
    return typeof text === "string" ? Buffer.from(text, "base64") : undefined;
  }

  async drop(owners: readonly string[]): Promise<void> {
    await Promise.all(owners.map((owner) => this.connection.command(["DEL", this.keys.files(owner)])));
  }
}
