import { expect, test } from "vitest";
import { UsageCounter } from "./usage.js";

test("adds up the turns of a run with all models, not the totals of a resumed session", () => {
  const counter = new UsageCounter();
  const sonnet = { inputTokens: 10, outputTokens: 5, cacheReadInputTokens: 1, costUSD: 0.5 };
  const haiku = { inputTokens: 1, outputTokens: 2, costUSD: 0.25 };
  const totals = {
    modelUsage: { sonnet: { inputTokens: 999 } },
    total_cost_usd: 99,
    usage: { input_tokens: 10 },
  };
  counter.add({ ...totals, model_usage_since_last_result: { sonnet, haiku } });
  expect(counter.add({ ...totals, model_usage_since_last_result: { haiku } })).toEqual({
    inputTokens: 12,
    outputTokens: 9,
    cachedInputTokens: 1,
    cost: 1,
  });
});

test("a program that does not tell it per result has at least the tokens of the turn", () => {
  const counter = new UsageCounter();
  expect(counter.add({ usage: { input_tokens: 3, output_tokens: 1 }, total_cost_usd: 1 })).toEqual({
    inputTokens: 3,
    outputTokens: 1,
  });
  expect(new UsageCounter().add({})).toBeUndefined();
});
