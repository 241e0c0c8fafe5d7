import { describe, expect, it } from "vitest";
import { layoutTimeline } from "../../console/src/timeline/timeline-layout.js";
import { createThreadView } from "../../src/client/thread-view.js";
import type { RunView } from "../../src/client/view.js";

type Step = readonly [time: number, change: string, value?: object];

/** A run that began at 1,000 and, with `end`, ended then. */
function runOf(steps: readonly Step[], end?: number): RunView {
  const reducer = createThreadView();
  reducer.apply({ event: { type: "RUN_STARTED", runId: "run-1", timestamp: 1_000 } });
  for (const [timestamp, change, value] of steps) {
    const told = {
      runId: "run-1",
      delegationId: "del-1",
      agentKey: "research",
      agentName: "Research",
      ...value,
    };
    reducer.apply({ event: { type: "CUSTOM", name: `subagent.${change}`, value: told, timestamp } });
  }
  if (end !== undefined) reducer.apply({ event: { type: "RUN_FINISHED", runId: "run-1", timestamp: end } });
  const [run] = reducer.view.runs;
  if (!run) throw new Error("there is no run");
  return run;
}

const finished = { result: {}, sizes: { seen: 1, model: 1 } };

describe("the layout of a timeline", () => {
  it("puts each state where it was, and draws work that is over as what came of it", () => {
    const steps: Step[] = [
      [3_000, "started"],
      [4_000, "status", { status: "working" }],
      [6_000, "input_required", { prompt: "Which?" }],
      [8_000, "input_resolved", { by: "person" }],
      [9_000, "artifact", { artifact: { id: "a", name: "notes.md" } }],
      [10_000, "finished", finished],
    ];
    const layout = layoutTimeline(runOf(steps, 11_000), 99_000);
    expect([layout.from, layout.to]).toEqual([1_000, 11_000]);
    expect(layout.run.bars).toEqual([{ state: "done", at: 0, width: 1 }]);
    const [lane] = layout.delegations;
    expect(lane).toMatchObject({ id: "del-1", label: "Research", state: "done" });
    const bars = lane?.bars.map(({ state, at, width }) => [state, at.toFixed(2), width.toFixed(2)]);
    expect(bars).toEqual([
      ["starting", "0.20", "0.10"],
      ["done", "0.30", "0.20"],
      ["needs_you", "0.50", "0.20"],
      ["done", "0.70", "0.20"],
    ]);
    expect(lane?.marks).toEqual([
      { kind: "input", at: 0.5, label: "Which?" },
      { kind: "artifact", at: 0.8, label: "notes.md" },
    ]);
  });

  it("grows with time while something goes on, also after the run", () => {
    const run = runOf([
      [1_000, "started"],
      [2_000, "status", { status: "working" }],
    ]);
    expect(layoutTimeline(run, 2_500).to).toBe(6_000);
    const bar = layoutTimeline(run, 11_000).delegations[0]?.bars.at(-1);
    expect(bar).toEqual({ state: "working", at: 0.1, width: 0.9 });
    const detached = runOf(
      [
        [1_000, "started"],
        [2_000, "detached"],
      ],
      3_000,
    );
    const layout = layoutTimeline(detached, 21_000);
    expect(layout.to).toBe(21_000);
    expect(layout.run.bars[0]?.width).toBeCloseTo(0.1);
    expect(layout.delegations[0]?.endedAt).toBeUndefined();
  });

  it("orders lanes by their beginnings, and says what failed and what was stopped", () => {
    const run = runOf(
      [
        [2_000, "started", { parentToolCallId: "later" }],
        [1_500, "started", { delegationId: "del-2", agentName: "Painter" }],
        [3_000, "failed", { error: { code: "remote_failed", message: "No." }, ...finished }],
        [
          3_000,
          "cancelled",
          { delegationId: "del-2", agentName: "Painter", reason: "user", confirmed: true, ...finished },
        ],
      ],
      4_000,
    );
    const lanes = layoutTimeline(run, 4_000).delegations.map(({ label, state }) => [label, state]);
    expect(lanes).toEqual([
      ["Painter", "stopped"],
      ["Research", "failed"],
    ]);
  });

  it.each([
    [6_000, 1_000],
    [60_000, 10_000],
    [3_600_000, 600_000],
    [90 * 86_400_000, undefined],
  ])("has few ticks at round times for a run of %i ms", (length, step) => {
    const { ticks } = layoutTimeline(runOf([], 1_000 + length), 0);
    expect(ticks.length).toBeGreaterThan(3);
    expect(ticks.length).toBeLessThan(9);
    expect(ticks[0]).toEqual({ at: 0, milliseconds: 0 });
    if (step !== undefined) expect(ticks[1]?.milliseconds).toBe(step);
    expect(Math.max(...ticks.map(({ at }) => at))).toBeLessThanOrEqual(0.95);
  });

  it("nothing leaves the strip, whatever the clocks say", () => {
    const run = runOf([
      [500, "started"],
      [90_000, "status", { status: "working" }],
      [100, "artifact", { artifact: { id: "a", name: "early" } }],
    ]);
    const { delegations } = layoutTimeline(run, 0);
    for (const { at, width } of delegations[0]?.bars ?? []) {
      expect(at).toBeGreaterThanOrEqual(0);
      expect(width).toBeGreaterThanOrEqual(0);
      expect(at + width).toBeLessThanOrEqual(1);
    }
    expect(delegations[0]?.marks[0]?.at).toBe(0);
  });
});
