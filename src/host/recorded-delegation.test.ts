import { expect, it } from "vitest";
import { reduce } from "../delegation/delegation.js";
import { type DelegationInput, type DelegationState, newDelegation } from "../delegation/delegation-state.js";
import { foldDelegation } from "./recorded-delegation.js";

const identity = {
  runId: "r",
  delegationId: "del-1",
  agentKey: "research",
  agentName: "Research",
  protocol: "a2a",
} as const;
const artifact = (size: number) => ({
  id: "file-1",
  name: "notes.md",
  mimeType: "text/markdown",
  uri: "host://delegations/del-1/artifacts/notes.md",
  size,
  sha256: "0".repeat(64),
});

const WORK: DelegationInput[] = [
  { type: "accepted", taskId: "task-1", contextId: "context-1" },
  { type: "correlated", toolCallId: "call-1", correlation: "medium" },
  { type: "status", status: "working", message: "Reading" },
  { type: "reasoning", messageId: "why", delta: "Because" },
  { type: "text", messageId: "m1", delta: "One " },
  { type: "text", messageId: "m1", delta: "mö" },
  { type: "tool.start", toolCallId: "x", name: "search" },
  { type: "tool.args", toolCallId: "x", delta: "{}" },
  { type: "tool.start", toolCallId: "y", name: "fetch" },
  { type: "tool.end", toolCallId: "x" },
  { type: "tool.result", toolCallId: "x", content: "found", isError: false },
  { type: "artifact_collected", artifact: artifact(10) },
  { type: "artifact_collected", artifact: artifact(20) },
  { type: "input_required", prompt: "Which?", schema: { type: "string" } },
  { type: "answered", by: "person" },
  { type: "text", messageId: "m2", delta: "Two" },
];

const ENDS: Record<string, DelegationInput[]> = {
  completed: [{ type: "completed", message: "All done, at last." }],
  failed: [{ type: "failed", message: "No.", code: "remote_failed" }],
  cancelled: [
    { type: "stop", cause: "cancel", reason: "user" },
    { type: "cancel_answered", answer: undefined },
    { type: "close", reason: "end" },
  ],
  deadline: [
    { type: "stop", cause: "deadline", reason: "too late" },
    { type: "cancel_answered", answer: { outcome: "cancelled" } },
  ],
};

/** What the journal tells of a state. A stop is known once it is over, and what was said only as long as it is needed. */
function told({ identity: who, phase, ...state }: DelegationState) {
  const { objective, correlation, cardFingerprint, status, question, artifacts, seen, answer } = state;
  const { openText, openReasoning, openTools, growing } = state;
  const open = phase === "over" ? {} : { openText, openReasoning, openTools, growing };
  const over = phase === "over";
  return {
    who,
    over,
    objective,
    correlation,
    cardFingerprint,
    status,
    question,
    artifacts,
    seen,
    ...open,
    answer: over ? answer : undefined,
  };
}

it.each(Object.keys(ENDS))(
  "what the journal tells of a delegation is what it was, at every step (%s)",
  (end) => {
    let live = newDelegation(identity, {
      objective: "find",
      correlation: "none",
      cardFingerprint: "f".repeat(64),
      maxResultBytes: 8_192,
      inputRequired: "surface",
    });
    let recorded: DelegationState | undefined;
    for (const input of [{ type: "show" } as const, ...WORK, ...(ENDS[end] ?? [])]) {
      const step = reduce(live, input);
      live = step.state;
      for (const event of step.events) recorded = foldDelegation(recorded, event);
      expect(recorded && told(recorded), JSON.stringify(input)).toEqual(told(live));
    }
    expect(recorded?.phase).toBe("over");
  },
);

it("a text beyond all measure is kept in part, and what follows costs nothing", () => {
  const delta = "x".repeat(20);
  const event = { ...identity, type: "subagent.text.delta", messageId: "m", delta } as const;
  let state = foldDelegation(undefined, { ...identity, type: "subagent.text.start", messageId: "m" });
  for (let count = 0; count < 200_000; count++) state = foldDelegation(state, event);
  expect(state.growing.length).toBe(1_000_000);
  expect(state.seen).toBe(4_000_000);
});
