import type { Usage } from "../../core/run-event.js";
import { asNumber, asObject, type JsonObject } from "../process/json.js";

/**
 * Adds up what the turns of one run used. The program's own totals (`modelUsage`, `total_cost_usd`) go on from a resumed session,
 * so they would count earlier runs again.
 */
export class UsageCounter {
  #total: Usage = {};

  /** Takes a `result` frame. @returns the run's usage so far; `undefined` when the program tells none. */
  add(result: JsonObject): Usage | undefined {
    const models = Object.values(asObject(result.model_usage_since_last_result)).map(asObject);
    if (models.length > 0) {
      // With the models of subagents, which the turn's own `usage` leaves out.
      this.#add("inputTokens", ...models.map((model) => model.inputTokens));
      this.#add("outputTokens", ...models.map((model) => model.outputTokens));
      this.#add("cachedInputTokens", ...models.map((model) => model.cacheReadInputTokens));
      this.#add("cost", ...models.map((model) => model.costUSD));
    } else {
      const turn = asObject(result.usage);
      this.#add("inputTokens", turn.input_tokens);
      this.#add("outputTokens", turn.output_tokens);
      this.#add("cachedInputTokens", turn.cache_read_input_tokens);
    }
    return this.total;
  }

  get total(): Usage | undefined {
    return Object.keys(this.#total).length > 0 ? this.#total : undefined;
  }

  #add(field: keyof Usage, ...values: readonly unknown[]): void {
    for (const value of values) {
      const amount = asNumber(value);
      if (amount !== undefined) this.#total = { ...this.#total, [field]: (this.#total[field] ?? 0) + amount };
    }
  }
}
