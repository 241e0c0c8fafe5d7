import { expect, it } from "vitest";
import { Permits } from "./permits.js";

it("gives as many permits as the limit, per scope, and again what was released", () => {
  const permits = new Permits();
  const first = permits.acquire("run", 2);
  permits.acquire("run", 2);
  expect(permits.acquire("run", 2)).toBeUndefined();
  expect(permits.acquire("other", 1)).toBeDefined();
  expect(permits.acquire("none", 0)).toBeUndefined();
  first?.();
  expect(permits.held("run")).toBe(1);
  expect(permits.acquire("run", 2)).toBeDefined();
});

it("a release counts once", () => {
  const permits = new Permits();
  const release = permits.acquire("run", 2);
  permits.acquire("run", 2);
  release?.();
  release?.();
  expect(permits.held("run")).toBe(1);
});
