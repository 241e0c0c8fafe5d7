import { describe, expect, it } from "vitest";
import { parseTraceparent, traceparentOf } from "./trace-context.js";

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

describe("traceparent", () => {
  it("stays in the trace and the sampling of the run, with a span of the delegation", () => {
    const own = traceparentOf(PARENT, "run", "del-1");
    expect(own).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-00$/);
    expect(own).not.toBe(PARENT);
    expect(traceparentOf(PARENT, "run", "del-2")).not.toBe(own);
    expect(traceparentOf(PARENT, "run", "del-1")).toBe(own);
  });

  it("without one, all delegations of a run share a trace of the run's own", () => {
    const [first, second, other] = [
      traceparentOf(undefined, "run-1", "del-1"),
      traceparentOf(undefined, "run-1", "del-2"),
      traceparentOf(undefined, "run-2", "del-3"),
    ].map((text) => text.split("-"));
    expect(first?.[1]).toBe(second?.[1]);
    expect(first?.[2]).not.toBe(second?.[2]);
    expect(other?.[1]).not.toBe(first?.[1]);
    expect(parseTraceparent(first?.join("-"))).toBeDefined();
  });

  it.each([
    "",
    "00-xyz",
    PARENT.toUpperCase(),
    `00-${"0".repeat(32)}-b7ad6b7169203331-01`,
    `${PARENT}\r\nX: y`,
    7,
    undefined,
  ])("%j from outside is none", (text) => expect(parseTraceparent(text)).toBeUndefined());
});
