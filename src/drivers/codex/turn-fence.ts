import { asObject, asText, type JsonObject } from "../process/json.js";

/** Takes a notification that belongs to the run. */
export type Deliver = (method: string, params: JsonObject) => void;

/**
 * Lets through what belongs to the run's own thread and turns. What comes before their ids are known waits; what belongs to other
 * threads (the program's own subagents) or to earlier turns of a resumed one is dropped.
 */
export class TurnFence {
  readonly #deliver: Deliver;
  readonly #turns = new Set<string>();
  #thread: string | undefined;
  #waiting: { method: string; params: JsonObject }[] = [];

  constructor(deliver: Deliver) {
    this.#deliver = deliver;
  }

  notification(method: string, params: JsonObject): void {
    const thread = asText(params.threadId);
    if (thread === undefined) {
      this.#deliver(method, params);
      return;
    }
    if (this.#thread !== undefined && thread !== this.#thread) return;
    const turn = asText(params.turnId) ?? asText(asObject(params.turn).id);
    // Nobody else talks to this process, so whatever turn begins in the run's thread is the run's.
    if (this.#thread !== undefined && turn !== undefined && method === "turn/started") {
      this.#deliver(method, params);
      this.openTurn(turn);
    } else if (this.#thread === undefined || (turn !== undefined && this.#turns.size === 0))
      this.#waiting.push({ method, params });
    else if (turn === undefined || this.#turns.has(turn)) this.#deliver(method, params);
  }

  openThread(thread: string): void {
    this.#thread = thread;
    this.#release();
  }

  openTurn(turn: string): void {
    this.#turns.add(turn);
    this.#release();
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { method, params } of waiting) this.notification(method, params);
  }
}
