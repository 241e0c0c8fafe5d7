import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { extendLineage, isCycle, lineageOf, lineageProblem } from "./lineage.js";

const CARD = "a".repeat(64);
const step = (agent: string, card?: string) => ({
  agent,
  delegationId: `del-${agent}`,
  ...(card === undefined ? {} : { card }),
});

describe("the lineage of a delegation", () => {
  it("comes out of a message as it went in", () => {
    const lineage = extendLineage([step("h/a")], step("h/b", CARD));
    expect(lineageOf({ troupe: { runId: "r", delegationId: "d", lineage } })).toEqual(lineage);
  });

  it("whatever metadata holds, it is read as steps or as none", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.jsonValue(), fc.record({ troupe: fc.record({ lineage: fc.jsonValue() }) })),
        (metadata) => {
          for (const { agent, delegationId } of lineageOf(metadata)) {
            expect(agent.length * delegationId.length).toBeGreaterThan(0);
          }
        },
      ),
    );
  });

  it("a chain that claims to be endless is cut, and is too deep all the same", () => {
    const claimed = Array.from({ length: 5_000 }, (_, index) => step(`h/${index}`));
    const lineage = lineageOf({ troupe: { lineage: claimed } });
    expect(lineage.length).toBeLessThan(20);
    expect(lineageProblem({ lineage, agent: "h/x" }, 4, undefined)).toMatch(/deep already/);
  });

  it("an agent that is at work further up is a cycle, by its name or its card", () => {
    const lineage = [step("h/a", CARD), step("h/b")];
    expect(isCycle(lineage, "h/b")).toBe(true);
    expect(isCycle(lineage, "h/c")).toBe(false);
    expect(lineageProblem({ lineage, agent: "h/b" }, 4, undefined)).toMatch(/circle/);
    expect(lineageProblem({ lineage, agent: "h/c" }, 4, CARD)).toMatch(/circle/);
    expect(lineageProblem({ lineage, agent: "h/c" }, 4, "b".repeat(64))).toBeUndefined();
  });
});
