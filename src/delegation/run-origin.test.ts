import { describe, expect, it } from "vitest";
import { originOf } from "./run-origin.js";

const ME = "host-1/codex";
const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const step = (agent: string) => ({ agent, delegationId: `del-${agent}` });

const told = (metadata: Record<string, unknown> | undefined, traceparent?: string) =>
  originOf(metadata?.troupe, traceparent, ME);

describe("originOf", () => {
  it("takes the lineage and the trace, and nothing else that the caller says", () => {
    const lineage = [step("host-2/claude")];
    const metadata = { troupe: { lineage, runId: "r", extra: 1 }, traceparent: TRACE, tenant: "forged" };
    expect(told(metadata)).toEqual({ metadata: { troupe: { lineage } } });
    expect(told(metadata, TRACE)).toEqual({
      metadata: { troupe: { lineage }, traceparent: TRACE },
    });
    expect(told(undefined, "00-xyz")).toEqual({ metadata: {} });
  });

  it("refuses what holds this agent, or more steps than any chain may have", () => {
    const chain = (count: number) => Array.from({ length: count }, (_, index) => step(`host-2/${index}`));
    expect(
      told({ troupe: { lineage: [step("host-2/claude"), step(ME), step("host-3/x")] } }).refusal,
    ).toBeDefined();
    expect(told({ troupe: { lineage: chain(17) } }).refusal).toBeDefined();
    expect(told({ troupe: { lineage: [step(ME), ...chain(16)] } }).refusal).toBeDefined();
    expect(told({ troupe: { lineage: Array.from({ length: 17 }, () => 7) } }).refusal).toBeDefined();
    expect(told({ troupe: { lineage: chain(16) } })).not.toHaveProperty("refusal");
    expect(told({ troupe: { lineage: [step("host-1/claude")] } })).not.toHaveProperty("refusal");
  });

  it.each([7, null, "x", [], { lineage: 7 }, { lineage: [7] }, { lineage: [{ agent: "" }] }])(
    "%j is no lineage",
    (troupe) => {
      expect(told({ troupe })).toEqual({ metadata: {} });
    },
  );
});
