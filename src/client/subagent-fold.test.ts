import { describe, expect, it } from "vitest";
import { createThreadView } from "./thread-view.js";
import { delegationsOf, type SubagentView } from "./view.js";

type Step = readonly [change: string, value?: object];

/** One delegation; its first event at time 1, the next at 2, and so on. `run-end` ends the run. */
function fold(steps: readonly Step[]): SubagentView {
  const reducer = createThreadView();
  const apply = (cursor: number, event: { type: string; [member: string]: unknown }) =>
    reducer.apply({ cursor: String(cursor), event: { timestamp: cursor, ...event } });
  reducer.apply({ event: { type: "RUN_STARTED", runId: "run-1", timestamp: 0 } });
  for (const [index, [change, value]] of steps.entries()) {
    const told = { runId: "run-1", delegationId: "del-1", agentKey: "research", ...value };
    if (change === "run-end") apply(index + 1, { type: "RUN_FINISHED", runId: "run-1" });
    else apply(index + 1, { type: "CUSTOM", name: `subagent.${change}`, value: told });
  }
  const [subagent] = delegationsOf(reducer.view.runs[0] ?? fail());
  return subagent ?? fail();
}

function fail(): never {
  throw new Error("there is no delegation");
}

const artifact = { id: "a", name: "notes.md", mimeType: "text/markdown", uri: "", size: 3, sha256: "" };

describe("the view of a delegation over time", () => {
  it("keeps each state with its beginning, once, and marks questions and files", () => {
    const { phases, marks } = fold([
      ["started", { objective: "Find it" }],
      ["text.delta", { messageId: "m", delta: "one" }],
      ["text.delta", { messageId: "m", delta: "two" }],
      ["input_required", { prompt: "Which?" }],
      ["input_resolved", { by: "person" }],
      ["artifact", { artifact }],
      ["artifact", { artifact: { ...artifact, size: 9 } }],
      ["finished", { result: {}, sizes: { seen: 1, model: 1 } }],
      ["text.delta", { messageId: "m", delta: "too late" }],
    ]);
    expect(phases).toEqual([
      { state: "starting", from: 1 },
      { state: "working", from: 2 },
      { state: "needs_you", from: 4 },
      { state: "working", from: 5 },
      { state: "done", from: 8 },
    ]);
    expect(marks).toEqual([
      { kind: "input", time: 4, label: "Which?" },
      { kind: "artifact", time: 6, label: "notes.md" },
    ]);
  });

  it("a stop that was asked for is the last state before the end", () => {
    const { phases } = fold([
      ["started"],
      ["status", { status: "working" }],
      ["status", { status: "cancel_pending" }],
      ["status", { status: "working" }],
      ["cancelled", { reason: "user", confirmed: true }],
    ]);
    expect(phases.map(({ state }) => state)).toEqual(["starting", "working", "stopping", "stopped"]);
  });

  it("an end that was concluded from the run's gives way to its own", () => {
    const steps: Step[] = [["started"], ["status", { status: "working" }], ["run-end"]];
    expect(fold(steps).phases.at(-1)).toEqual({ state: "stopped", from: 3 });
    const own = fold([...steps, ["failed", { error: { code: "remote_failed", message: "No." } }]]);
    expect(own.phases.map(({ state, from }) => [state, from])).toEqual([
      ["starting", 1],
      ["working", 2],
      ["failed", 4],
    ]);
  });

  it("knows how its call was found, also when that comes later, and whose card it was started by", () => {
    const started = { correlation: "none", cardFingerprint: "new", cardChangedFrom: "old" };
    expect(fold([["started", started]])).toMatchObject(started);
    expect(
      fold([
        ["started", started],
        ["correlated", { correlation: "medium" }],
      ]).correlation,
    ).toBe("medium");
    expect(fold([["started", { correlation: "sure" }]])).not.toHaveProperty("correlation");
  });
});
