import type { Clock } from "../core/clock.js";
import { SilenceTimer } from "./silence-timer.js";
import type { StreamState } from "./stream-state.js";

/** Milliseconds without an event after which a replay is taken for complete. The wire has no mark for it. */
const SETTLED_MS = 250;

/** Tells when one connection has caught up: at the first event that is newer than the connection, or at the first pause. */
export class CatchUp {
  readonly #connectedAt: number;
  readonly #onState: (state: StreamState) => void;
  readonly #pause: SilenceTimer;
  #phase: "settling" | "replaying" | "live" = "settling";

  /** @param connectedAt the host's time when it answered, in milliseconds since the epoch. */
  constructor(clock: Clock, connectedAt: number, onState: (state: StreamState) => void) {
    this.#connectedAt = connectedAt;
    this.#onState = onState;
    this.#pause = new SilenceTimer(clock, SETTLED_MS, () => this.#live());
  }

  begin(): void {
    this.#pause.begin();
  }

  end(): void {
    this.#pause.end();
  }

  /** @param timestamp when the event happened, if it says so. */
  event(timestamp: unknown): void {
    if (this.#phase === "live") return;
    if (typeof timestamp === "number" && timestamp >= this.#connectedAt) this.#live();
    else if (this.#phase === "settling") {
      this.#phase = "replaying";
      this.#onState({ status: "replaying" });
    }
  }

  close(): void {
    this.#pause.cancel();
  }

  #live(): void {
    this.#phase = "live";
    this.#pause.cancel();
    this.#onState({ status: "live" });
  }
}
