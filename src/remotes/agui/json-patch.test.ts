import { describe, expect, test } from "vitest";
import { PatchedDocument } from "./json-patch.js";

/** What is left of a document after a patch; `undefined` when it was refused. */
function patched(value: unknown, ...patch: unknown[]): unknown {
  const document = new PatchedDocument(structuredClone(value));
  return document.apply(patch) ? document.value : undefined;
}

describe("RFC 6902", () => {
  test.each<[string, unknown, Record<string, unknown>, unknown]>([
    ["adds a member", { a: 1 }, { op: "add", path: "/b", value: 2 }, { a: 1, b: 2 }],
    ["adds into a list", { a: [1, 3] }, { op: "add", path: "/a/1", value: 2 }, { a: [1, 2, 3] }],
    ["adds to the end of a list", { a: [1] }, { op: "add", path: "/a/-", value: 2 }, { a: [1, 2] }],
    ["replaces", { a: [1, 2] }, { op: "replace", path: "/a/1", value: 9 }, { a: [1, 9] }],
    ["replaces the whole", { a: 1 }, { op: "replace", path: "", value: [1] }, [1]],
    ["removes", { a: [1, 2], b: 1 }, { op: "remove", path: "/a/0" }, { a: [2], b: 1 }],
    ["moves", { a: 1 }, { op: "move", from: "/a", path: "/b" }, { b: 1 }],
    ["copies", { a: [1] }, { op: "copy", from: "/a", path: "/b" }, { a: [1], b: [1] }],
    ["tests", { a: [1] }, { op: "test", path: "/a", value: [1] }, { a: [1] }],
    [
      "unescapes",
      { "a/b": { "~": 1 } },
      { op: "replace", path: "/a~1b/~0", value: 2 },
      { "a/b": { "~": 2 } },
    ],
  ])("%s", (_what, value, operation, expected) => {
    expect(patched(value, operation)).toEqual(expected);
  });

  test.each<[string, unknown]>([
    ["a path that is not there", { op: "replace", path: "/x/y", value: 1 }],
    ["an index beyond the list", { op: "add", path: "/a/5", value: 1 }],
    ["an index that is no number", { op: "remove", path: "/a/01" }],
    ["a failed test", { op: "test", path: "/a", value: 2 }],
    ["a prototype", { op: "add", path: "/__proto__/x", value: 1 }],
    ["a prototype as a member", { op: "add", path: "/__proto__", value: { x: 1 } }],
    ["an unknown operation", { op: "explode", path: "/a" }],
    ["no operation at all", 7],
  ])("refuses %s", (_what, operation) => {
    expect(patched({ a: [1] }, operation)).toBeUndefined();
    expect(Object.prototype).not.toHaveProperty("x");
  });

  test("a copy is one of its own", () => {
    const patch = [
      { op: "copy", from: "/a", path: "/b" },
      { op: "add", path: "/b/-", value: 2 },
    ];
    expect(patched({ a: [1] }, ...patch)).toEqual({ a: [1], b: [1, 2] });
  });

  test("doubling what is there does not fill the memory", () => {
    const double = { op: "copy", from: "/a", path: "/a/-" };
    expect(patched({ a: ["x".repeat(1_000)] }, ...Array(60).fill(double))).toBeUndefined();
  });
});

describe("a patch of comparisons", () => {
  test("may not compare the whole document a thousand times", () => {
    const value = { text: "x".repeat(4_000_000) };
    const document = new PatchedDocument(value);
    const test = { op: "test", path: "", value: { text: "" } };
    expect(document.apply([{ ...test, value }])).toBe(true);
    expect(document.apply(Array.from({ length: 1_000 }, () => ({ ...test, value })))).toBe(false);
  });
});
