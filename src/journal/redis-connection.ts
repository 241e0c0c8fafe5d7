import { type Clock, sleep } from "../core/clock.js";
import { JournalError } from "./journal-error.js";
import type { RedisScript } from "./redis-scripts.js";

/** The part of the client's package that is used. */
type Client = ReturnType<typeof import("redis").createClient>;

/** How the server is reached. */
export interface RedisConnectionOptions {
  /** `redis://` or `rediss://`, with user and password where the server wants them. */
  readonly url: string;
  /** How long the server may be away until what waits for it fails, in milliseconds. */
  readonly outageMs: number;
  readonly clock: Clock;
}

const FIRST_RETRY_MS = 20;
const LONGEST_RETRY_MS = 1_000;

/** A connection that comes back by itself. Commands wait for it, within a bound. */
export class RedisConnection {
  #subscriber: Promise<Client> | undefined;
  #closed = false;

  private constructor(
    private readonly client: Client,
    private readonly options: RedisConnectionOptions,
  ) {}

  /** @throws JournalError `journal_module_missing`, or `journal_unavailable` when the server does not answer. */
  static async open(options: RedisConnectionOptions): Promise<RedisConnection> {
    const { createClient } = await loadRedis();
    const client = createClient({
      url: options.url,
      disableOfflineQueue: true,
      socket: {
        reconnectStrategy: (tries: number) =>
          Math.min(FIRST_RETRY_MS * 2 ** Math.min(tries, 10), LONGEST_RETRY_MS),
      },
    }) as Client;
    // Whoever waits is told; the client itself goes on trying.
    client.on("error", () => undefined);
    const connection = new RedisConnection(client, options);
    const connecting = client.connect();
    connecting.catch(() => undefined);
    try {
      await connection.command(["PING"]);
    } catch (error) {
      client.destroy();
      throw error;
    }
    return connection;
  }

  /**
   * Sends a command, again after a lost connection: it has to be one that may be repeated.
   * @throws JournalError `journal_unavailable`, or what the server says.
   */
  async command(args: readonly string[]): Promise<unknown> {
    const { clock, outageMs } = this.options;
    const until = clock.now() + outageMs;
    for (let pause = FIRST_RETRY_MS; ; pause = Math.min(pause * 2, LONGEST_RETRY_MS)) {
      if (this.#closed) throw new JournalError("journal_closed", "The journal is closed.");
      try {
        return await this.client.sendCommand([...args]);
      } catch (error) {
        if (isReply(error)) throw refused(error);
        if (clock.now() >= until) throw away(error);
        await sleep(clock, pause);
      }
    }
  }

  /** Runs a script that may be repeated. @throws as {@link command}. */
  async run(script: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    try {
      return await this.command(["EVALSHA", script.sha, String(keys.length), ...keys, ...args]);
    } catch (error) {
      if (!(error instanceof JournalError) || !/NOSCRIPT/.test(error.message)) throw error;
      return this.command(["EVAL", script.source, String(keys.length), ...keys, ...args]);
    }
  }

  /** Hears what is published in a channel; a message may be lost. */
  async subscribe(channel: string, heard: (message: string) => void): Promise<void> {
    this.#subscriber ??= (async () => {
      const subscriber = this.client.duplicate({ disableOfflineQueue: false }) as Client;
      subscriber.on("error", () => undefined);
      await subscriber.connect();
      if (this.#closed) subscriber.destroy();
      return subscriber;
    })();
    const subscriber = await this.#subscriber;
    if (!this.#closed) await subscriber.subscribe(channel, heard);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.client.destroy();
    this.#subscriber?.then(
      (subscriber) => subscriber.isOpen && subscriber.destroy(),
      () => undefined,
    );
  }
}

async function loadRedis(): Promise<typeof import("redis")> {
  try {
    return await import("redis");
  } catch (error) {
    const text = 'The package "redis" is not installed. Run `npm install redis`.';
    throw new JournalError("journal_module_missing", text, { cause: error });
  }
}

/** Whether the server answered, and only did not like what it was asked. */
function isReply(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  // While it loads its data, or is a replica that becomes the primary, it will like it later.
  return (
    /^[A-Z]+ /.test(error.message) &&
    !/^(?:LOADING|TRYAGAIN|MASTERDOWN|READONLY|CLUSTERDOWN) /.test(error.message)
  );
}

function refused(error: Error): JournalError {
  const full = /^OOM /.test(error.message);
  const words = error.message.replaceAll(/\s+/g, " ").slice(0, 200);
  if (full)
    return new JournalError("journal_full", "The Redis server has no memory left.", { retryable: true });
  if (/^(?:NOAUTH|WRONGPASS|NOPERM) /.test(error.message)) {
    const text = "The Redis server refused the user or the password of its URL, or a command that is needed.";
    return new JournalError("journal_unreadable", text);
  }
  return new JournalError("journal_failed", `The Redis server answered: ${words}`);
}

/** Never with the URL, which holds the password. */
function away(error: unknown): JournalError {
  const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
  return new JournalError("journal_unavailable", `The Redis server cannot be reached${code}.`, {
    retryable: true,
    cause: error,
  });
}
