import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { stringsReachableFrom } from "../../../test/support/object-graph.js";
import { createToken } from "../../core/ids.js";
import { RunTokens } from "./run-tokens.js";

describe("RunTokens", () => {
  it("finds the entry of a token until it is revoked", () => {
    const tokens = new RunTokens<string>();
    const revoke = tokens.add("a", "run-a");
    tokens.add("b", "run-b");
    expect([tokens.find("a"), tokens.find("b"), tokens.find("c"), tokens.find("")]).toEqual([
      "run-a",
      "run-b",
      undefined,
      undefined,
    ]);
    revoke();
    revoke();
    expect([tokens.find("a"), tokens.find("b")]).toEqual([undefined, "run-b"]);
  });

  it("keeps hashes alone, in fields and closures alike", () => {
    const tokens = new RunTokens<object>();
    const token = createToken();
    const kept = { tokens, revoke: tokens.add(token, {}) };
    tokens.find(token);
    const strings = stringsReachableFrom(kept);
    // The search does see what is kept.
    expect(strings).toContain(createHash("sha256").update(token).digest("hex"));
    expect([...strings].filter((text) => text.includes(token))).toEqual([]);
  });

  it("a token has 256 random bits", () => {
    expect(Buffer.from(createToken(), "base64url")).toHaveLength(32);
    expect(new Set(Array.from({ length: 100 }, createToken)).size).toBe(100);
  });
});
