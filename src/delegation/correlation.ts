import type { Clock, Timer } from "../core/clock.js";
import type { RunEvent } from "../core/run-event.js";
import { canonicalJson } from "./canonical-json.js";
import type { CorrelationLevel } from "./events.js";

/** Which of the parent's tool calls a delegation belongs to. */
export interface Correlation {
  readonly toolCallId?: string;
  readonly level: CorrelationLevel;
}

/** What a call tells of itself when it arrives on the MCP side. */
export interface IncomingCall {
  /** The program's own id of the tool call, when it sends one. */
  readonly callId?: string;
  readonly tool: string;
  readonly input: unknown;
  /** W3C trace context that the call belongs to, when its client sends one. */
  readonly traceparent?: string;
}

interface OpenCall {
  readonly tool: string;
  readonly pieces: string[];
  /** Tool and canonical arguments; set when the arguments are complete. */
  key?: string;
  claimed: boolean;
}

interface WaitingCall {
  readonly call: IncomingCall;
  readonly key: string;
  settle(correlation: Correlation): void;
}

/**
 * Finds the parent's tool call for each delegation of one run. The parent's events and the MCP call arrive on two channels in
 * either order. An id decides (strong); without one, tool and arguments do (medium), but only when there is a single candidate
 * on each side: a guess would put one agent's work under another's call.
 */
export class Correlator {
  readonly #open = new Map<string, OpenCall>();
  /** Calls that were named by id before the parent's events showed them. */
  readonly #named = new Set<string>();
  readonly #waiting = new Set<WaitingCall>();

  /** @param graceMs how long a call waits for its counterpart before it goes on without one. */
  constructor(
    private readonly clock: Clock,
    private readonly graceMs: number,
  ) {}

  /** Sees the run's events. */
  observe(event: RunEvent): void {
    if (event.type === "tool.start") {
      const claimed = this.#named.delete(event.toolCallId);
      this.#open.set(event.toolCallId, { tool: event.tool ?? event.name, pieces: [], claimed });
      this.#match();
    } else if (event.type === "tool.args") this.#open.get(event.toolCallId)?.pieces.push(event.delta);
    else if (event.type === "tool.end") {
      const call = this.#open.get(event.toolCallId);
      if (call === undefined) return;
      call.key = argumentsKey(call.tool, call.pieces.join(""));
      this.#match();
    } else if (event.type === "tool.result") this.#open.delete(event.toolCallId);
  }

  /**
   * Correlates an incoming call.
   * @param onLate called at most once, when the call is found only after the answer said that it is not.
   */
  correlate(call: IncomingCall, onLate: (correlation: Correlation) => void): Promise<Correlation> {
    return new Promise((resolve) => {
      let answered = false;
      let timer: Timer | undefined;
      const waiting: WaitingCall = {
        call,
        key: `${call.tool} ${canonicalJson(call.input)}`,
        settle: (correlation) => {
          this.#waiting.delete(waiting);
          timer?.cancel();
          if (answered) onLate(correlation);
          else resolve(correlation);
          answered = true;
        },
      };
      this.#waiting.add(waiting);
      this.#match();
      if (answered) return;
      timer = this.clock.timer(this.graceMs, () => {
        if (call.callId !== undefined) {
          this.#named.add(call.callId);
          return waiting.settle({ toolCallId: call.callId, level: "strong" });
        }
        answered = true;
        resolve({ level: "none" });
      });
    });
  }

  /** The call is over: it is no rival of later ones. */
  forget(call: IncomingCall): void {
    for (const waiting of this.#waiting) if (waiting.call === call) this.#waiting.delete(waiting);
  }

  /** Forgets everything; calls that still wait are answered. */
  close(): void {
    for (const waiting of [...this.#waiting]) waiting.settle({ level: "none" });
    this.#open.clear();
  }

  #match(): void {
    for (const waiting of [...this.#waiting]) {
      const { callId } = waiting.call;
      if (callId !== undefined) {
        const call = this.#open.get(callId);
        if (call === undefined) continue;
        call.claimed = true;
        waiting.settle({ toolCallId: callId, level: "strong" });
        continue;
      }
      const rivals = [...this.#waiting].filter(
        ({ call, key }) => call.callId === undefined && key === waiting.key,
      );
      const candidates = [...this.#open].filter(([, call]) => !call.claimed && call.key === waiting.key);
      const [only] = candidates;
      if (rivals.length !== 1 || candidates.length !== 1 || only === undefined) continue;
      only[1].claimed = true;
      waiting.settle({ toolCallId: only[0], level: "medium" });
    }
  }
}

function argumentsKey(tool: string, json: string): string {
  try {
    return `${tool} ${canonicalJson(JSON.parse(json === "" ? "{}" : json))}`;
  } catch {
    return `${tool} (unreadable)`;
  }
}
