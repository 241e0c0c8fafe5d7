import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isRepeating } from "./repeats.js";

describe("isRepeating", () => {
  test("what a store that writes every chunk twice holds is recognised", () => {
    expect(
      isRepeating("piece 1 piece 2 piece 2 piece 3 piece 3 ", ["piece 1 ", "piece 2 ", "piece 3 "]),
    ).toBe(true);
    expect(isRepeating("ha ha ha ha ", ["ha ", "ha "])).toBe(true);
  });

  test("what was streamed, and anything else, is not", () => {
    expect(isRepeating("one two ", ["one ", "two "])).toBe(false);
    expect(isRepeating("one two three", ["one ", "two "])).toBe(false);
    expect(isRepeating("another text", ["one ", "two "])).toBe(false);
    expect(isRepeating("ha ha ", ["ha ", "ha "])).toBe(false);
  });

  test("any chunks, each written one to three times, at least one of them more than once", () => {
    const chunk = fc.string({ minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(chunk, fc.integer({ min: 1, max: 3 })), { minLength: 1, maxLength: 12 }),
        (parts) => {
          fc.pre(parts.some(([, times]) => times > 1));
          const stored = parts.map(([text, times]) => text.repeat(times)).join("");
          expect(
            isRepeating(
              stored,
              parts.map(([text]) => text),
            ),
          ).toBe(true);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
