import { expect, it } from "vitest";
import { createId, createToken } from "./ids.js";

it("ids are 96 bits of their own, however many are made", () => {
  const ids = Array.from({ length: 1_000 }, () => createId("run"));
  expect(new Set(ids).size).toBe(1_000);
  for (const id of ids) expect(id).toMatch(/^run-[0-9a-f]{24}$/);
});

it("a token has 256 bits", () => {
  expect(createToken()).toMatch(/^[\w-]{43}$/);
  expect(createToken()).not.toBe(createToken());
});
