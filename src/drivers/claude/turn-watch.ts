import type { Clock, Timer } from "../../core/clock.js";
import { asList, asObject, asText, type JsonObject } from "../process/json.js";

/**
 * Knows when the program has nothing more to do. A `result` ends a turn, but native subagents may go on in the background, and
 * their end wakes the model for another turn with another `result`.
 */
export class TurnWatch {
  readonly #clock: Clock;
  readonly #patienceMs: number;
  readonly #onDone: () => void;
  #state: "idle" | "working" | "answered" = "idle";
  #subagents = 0;
  #timer: Timer | undefined;

  /** @param patienceMs how long the model may take to wake up after its last subagent has ended. */
  constructor(clock: Clock, patienceMs: number, onDone: () => void) {
    this.#clock = clock;
    this.#patienceMs = patienceMs;
    this.#onDone = onDone;
  }

  /** Whether a turn is open, so that it can be interrupted. */
  get working(): boolean {
    return this.#state === "working" || this.#subagents > 0;
  }

  /** A prompt was sent. */
  prompted(): void {
    this.#state = "working";
  }

  frame(frame: JsonObject): void {
    if (frame.type === "result") {
      this.#state = "answered";
      if (this.#subagents === 0) this.#onDone();
    } else if (frame.type === "system" && frame.subtype === "background_tasks_changed") {
      this.#subagents = asList(frame.tasks).filter(isSubagent).length;
      this.#waitForWaking();
    } else if (this.#state === "answered" && startsTurn(frame)) {
      this.#state = "working";
      this.#timer?.cancel();
    }
  }

  close(): void {
    this.#timer?.cancel();
  }

  #waitForWaking(): void {
    this.#timer?.cancel();
    if (this.#state === "answered" && this.#subagents === 0)
      this.#timer = this.#clock.timer(this.#patienceMs, this.#onDone);
  }
}

/** A shell in the background may run for ever (a server, a watcher); only work that reports to the model is waited for. */
function isSubagent(task: unknown): boolean {
  return /agent|workflow/.test(asText(asObject(task).task_type) ?? "");
}

function startsTurn(frame: JsonObject): boolean {
  if (frame.type === "system") return frame.subtype === "init" || frame.subtype === "status";
  return (
    (frame.type === "stream_event" || frame.type === "assistant") &&
    asText(frame.parent_tool_use_id) === undefined
  );
}
