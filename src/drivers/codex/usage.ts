import type { Usage } from "../../core/run-event.js";
import { asNumber, asObject, type JsonObject } from "../process/json.js";

const FIELDS = ["inputTokens", "outputTokens", "cachedInputTokens"] as const;

/**
 * Knows what one run used. The program's totals go on from a resumed thread; what was there before the run's first request is
 * taken off. `inputTokens` includes the cached ones, as the program counts.
 */
export class UsageMeter {
  #before: Usage | undefined;

  /** Takes a `tokenUsage`. @returns the run's usage so far. */
  update(tokenUsage: JsonObject): Usage {
    const total = read(asObject(tokenUsage.total));
    this.#before ??= less(total, read(asObject(tokenUsage.last)));
    return less(total, this.#before);
  }
}

function read(counts: JsonObject): Usage {
  const entries = FIELDS.flatMap((field) => {
    const count = asNumber(counts[field]);
    return count === undefined ? [] : [[field, count] as const];
  });
  return Object.fromEntries(entries);
}

function less(whole: Usage, part: Usage): Usage {
  const entries = FIELDS.flatMap((field) => {
    const count = whole[field];
    return count === undefined ? [] : [[field, Math.max(0, count - (part[field] ?? 0))] as const];
  });
  return Object.fromEntries(entries);
}
