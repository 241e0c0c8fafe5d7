import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJson } from "./json.js";

const malformed = expect.objectContaining({ name: "WireError", code: "malformed" });

describe("parseJson", () => {
  test("agrees with JSON.parse on what is harmless", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        fc.pre(!/\d{16}|__proto__/.test(text));
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each([
    "9007199254740993",
    "-9007199254740993",
    '{"a":[1,12345678901234567890]}',
    "9007199254740993.0",
  ])("refuses to round %s", (text) => {
    expect(() => parseJson(text)).toThrowError(malformed);
  });

  test.each([
    "9007199254740991",
    "1e300",
    "0.1234567890123456789",
    '"9007199254740993"',
    '"\\"9007199254740993"',
  ])("accepts %s", (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  test.each(['{"__proto__":{"a":1}}', '[{"\\u005f_proto__":1}]'])("refuses the key in %s", (text) => {
    expect(() => parseJson(text)).toThrowError(malformed);
  });

  test("accepts the same word as a value", () => {
    expect(parseJson('{"a":"__proto__"}')).toEqual({ a: "__proto__" });
  });

  test("refuses deep nesting without walking it, and counts no brackets in strings", () => {
    expect(() => parseJson("[".repeat(200_000))).toThrowError(malformed);
    expect(() => parseJson("[[[1]]]", { maxDepth: 2 })).toThrowError(malformed);
    expect(parseJson('["[[[\\"[["]', { maxDepth: 1 })).toEqual(['[[["[[']);
  });

  test.each(["", "{", '"open', "nul", '{"secret-token'])("names no text of %j", (text) => {
    expect(() => parseJson(text)).toThrowError(
      expect.objectContaining({ code: "malformed", message: expect.not.stringContaining("secret") }),
    );
  });
});
