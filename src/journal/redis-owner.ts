import type { Clock, Timer } from "../core/clock.js";
import type { RedisConnection } from "./redis-connection.js";
import type { RedisKeys } from "./redis-keys.js";

/** Says that this process lives, for as long as it says so again in time. */
export class RedisOwner {
  #timer: Timer | undefined;

  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    readonly id: string,
    private readonly leaseMs: number,
    private readonly clock: Clock,
  ) {}

  /** From now on. Resolves when others can see it. */
  async hold(): Promise<void> {
    if (this.#timer !== undefined) return;
    this.#renewLater();
    await this.#renew();
  }

  /** @returns those of `ids` that do not live. */
  async gone(ids: readonly string[]): Promise<string[]> {
    const alive = await Promise.all(
      ids.map((id) => this.connection.command(["EXISTS", this.keys.owner(id)])),
    );
    return ids.filter((_id, index) => Number(alive[index]) === 0);
  }

  /** It does not live any more. */
  async release(): Promise<void> {
    if (this.#timer === undefined) return;
    this.#timer.cancel();
    await this.connection.command(["DEL", this.keys.owner(this.id)]).catch(() => undefined);
  }

  #renewLater(): void {
    this.#timer = this.clock.timer(this.leaseMs / 3, () => {
      this.#renewLater();
      // Who cannot say it in time is taken for gone, which is right.
      this.#renew().catch(() => undefined);
    });
  }

  async #renew(): Promise<void> {
    await this.connection.command(["SET", this.keys.owner(this.id), "1", "PX", String(this.leaseMs)]);
  }
}
