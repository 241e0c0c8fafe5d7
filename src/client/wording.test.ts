import { describe, expect, it } from "vitest";
import type { SubagentView } from "./view.js";
import { argumentHint, formatBoundary, formatBytes, formatElapsed, summaryOf } from "./wording.js";

const subagent: SubagentView = {
  version: 0,
  delegationId: "del-1",
  runId: "run-1",
  agentKey: "research",
  agentName: "Research",
  protocol: "a2a",
  questionCount: 0,
  phases: [],
  marks: [],
  objective: "o",
  state: "done",
  items: [
    { kind: "text", version: 0, id: "a", text: "Said.", done: true },
    { kind: "reasoning", version: 0, id: "b", text: "Thought.", done: true },
  ],
  artifacts: [],
  startedAt: 0,
};
const artifact = { id: "a", name: "a", mimeType: "text/plain", uri: "", size: 1, sha256: "" };

describe("the words of a view", () => {
  it.each([
    [0, "0 B"],
    [612, "612 B"],
    [999, "999 B"],
    [1_000, "1.0 kB"],
    [3_849, "3.8 kB"],
    [9_990, "10 kB"],
    [38_400, "38 kB"],
    [999_400, "999 kB"],
    [999_600, "1.0 MB"],
    [1_200_000, "1.2 MB"],
  ])("%i bytes are %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  it.each([
    [-5_000, "0:00"],
    [7_900, "0:07"],
    [760_000, "12:40"],
    [3_723_000, "1:02:03"],
  ])("%i ms are %s", (milliseconds, text) => expect(formatElapsed(milliseconds)).toBe(text));

  it("says what was seen on each side of the boundary", () => {
    const sizes = { seen: 38_400, model: 612 };
    expect(formatBoundary(subagent)).toBeUndefined();
    expect(formatBoundary({ ...subagent, sizes })).toBe("you: 38 kB · the model: 612 B");
    expect(formatBoundary({ ...subagent, sizes, artifacts: [artifact] })).toBe(
      "you: 38 kB, 1 artifact · the model: 612 B",
    );
    expect(formatBoundary({ ...subagent, sizes, artifacts: [artifact, artifact, artifact] })).toBe(
      "you: 38 kB, 3 artifacts · the model: 612 B",
    );
  });

  it("sums a delegation up by what the model got, else by why it ended, else by its last text", () => {
    expect(summaryOf({ ...subagent, result: { summary: "Short." } })).toBe("Short.");
    expect(summaryOf(subagent)).toBe("Said.");
    expect(
      summaryOf({
        ...subagent,
        state: "failed",
        error: { code: "remote_failed", message: "Broke.", retryable: false },
      }),
    ).toBe("Broke.");
    expect(summaryOf({ ...subagent, state: "stopped", reason: "user", confirmed: false })).toBe(
      "You stopped it. The remote agent has not confirmed it.",
    );
  });

  it("hints at a call's arguments in one line, and only when they are complete", () => {
    expect(argumentHint('{"agent":"research","objective":"Find\\n  it"}')).toBe("Find it");
    expect(argumentHint('{"other":"x"}')).toBe("x");
    expect(argumentHint('{"objective":"Fi')).toBe("");
    expect(argumentHint(`{"objective":"${"x".repeat(90)}"}`)).toHaveLength(80);
  });
});
