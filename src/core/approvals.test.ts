import { describe, expect, it, vi } from "vitest";
import { deferred, settle } from "../../test/support/deferred.js";
import { ManualClock } from "../testing/manual-clock.js";
import type { ApprovalDecision, ApprovalRequest } from "./approval.js";
import { type ApprovalOptions, Approvals } from "./approvals.js";
import type { RunEvent } from "./run-event.js";

const QUESTION = {
  kind: "permission",
  title: "Run rm -rf?",
  tool: "Bash",
  input: { command: "rm" },
} as const;

function setup(options: Partial<ApprovalOptions> = {}) {
  const clock = new ManualClock();
  const events: RunEvent[] = [];
  let count = 0;
  const approvals = new Approvals(
    { permissions: "ask", timeoutMs: 60_000, ...options },
    clock,
    (prefix) => `${prefix}-${++count}`,
    (event) => events.push(event),
  );
  const withdrawn = new AbortController();
  const ask = (question: Omit<ApprovalRequest, "approvalId" | "expiresAt"> = QUESTION) =>
    approvals.ask(question, withdrawn.signal);
  const resolutions = () => events.filter(({ type }) => type === "approval.resolved");
  return { approvals, clock, events, ask, withdrawn, resolutions };
}

describe("Approvals", () => {
  it("a person decides, once; the answer reaches the program as it was given", async () => {
    const { approvals, clock, events, ask, resolutions } = setup();
    const asking = ask();
    expect(events).toEqual([
      {
        type: "approval.requested",
        approval: { ...QUESTION, approvalId: "apr-1", expiresAt: clock.now() + 60_000 },
      },
    ]);
    const decision: ApprovalDecision = { decision: "approve", input: { command: "ls" } };
    expect(approvals.decide("apr-1", decision)).toBe(true);
    expect(approvals.decide("apr-1", { decision: "deny" })).toBe(false);
    expect(approvals.decide("apr-2", decision)).toBe(false);
    expect(await asking).toEqual(decision);
    expect(resolutions()).toEqual([
      { type: "approval.resolved", approvalId: "apr-1", decision: "approve", by: "person" },
    ]);
    expect(clock.pending).toBe(0);
  });

  it("nobody in time: denied by itself", async () => {
    const { clock, ask, resolutions } = setup();
    const asking = ask();
    await clock.advance(59_999);
    expect(resolutions()).toEqual([]);
    await clock.advance(1);
    expect(await asking).toMatchObject({ decision: "deny" });
    expect(resolutions()).toMatchObject([{ by: "timeout", decision: "deny" }]);
  });

  it("withdrawn by the program, before or after it was asked", async () => {
    const { ask, withdrawn, resolutions, clock, approvals } = setup();
    const asking = ask();
    withdrawn.abort();
    expect(await asking).toMatchObject({ decision: "deny" });
    expect(await ask()).toMatchObject({ decision: "deny" });
    expect(resolutions()).toMatchObject([{ by: "program" }, { by: "program" }]);
    expect(approvals.decide("apr-1", { decision: "approve" })).toBe(false);
    expect(clock.pending).toBe(0);
  });

  it("the run's end denies what is open and all that comes, whatever the policy says", async () => {
    for (const permissions of ["ask", "allow"] as const) {
      const { approvals, clock, ask, resolutions } = setup({ permissions });
      const asking = ask({ ...QUESTION, kind: "plan" });
      approvals.close();
      expect(await asking).toEqual({ decision: "deny", message: "The run is over." });
      expect(resolutions()).toMatchObject([{ by: "run_end", decision: "deny" }]);
      expect(await ask()).toEqual({ decision: "deny", message: "The run is over." });
      expect(resolutions()).toHaveLength(1);
      expect(clock.pending).toBe(0);
    }
  });

  it.each([
    ["allow", "approve"],
    ["deny", "deny"],
  ] as const)(
    "the mode %s answers permissions at once, but not plans and questions",
    async (permissions, decision) => {
      const { approvals, events, ask } = setup({ permissions });
      expect(await ask()).toMatchObject({ decision });
      expect(events).toEqual([]);
      const plan = ask({ kind: "question", title: "Which one?", schema: { type: "object" } });
      expect(approvals.decide("apr-1", { decision: "approve", input: { choice: 1 } })).toBe(true);
      expect(await plan).toMatchObject({ input: { choice: 1 } });
    },
  );

  it("code decides first; undefined leaves it to a person", async () => {
    const decided = setup({
      handler: ({ tool }) => (tool === "Bash" ? { decision: "deny", message: "No." } : undefined),
    });
    expect(await decided.ask()).toEqual({ decision: "deny", message: "No." });
    expect(decided.resolutions()).toMatchObject([{ by: "policy" }]);
    const asking = decided.ask({ kind: "permission", title: "Read?", tool: "Read" });
    await settle();
    expect(decided.resolutions()).toHaveLength(1);
    expect(decided.approvals.decide("apr-2", { decision: "approve" })).toBe(true);
    expect(await asking).toMatchObject({ decision: "approve" });
  });

  it.each([
    () => {
      throw new Error("bug with s3cret");
    },
    () => Promise.reject(new Error("bug with s3cret")),
  ])("a handler that fails denies, and its error goes nowhere", async (handler) => {
    const { ask, resolutions } = setup({ handler });
    const decision = await ask();
    expect(decision).toMatchObject({ decision: "deny" });
    expect(JSON.stringify(decision)).not.toContain("s3cret");
    expect(resolutions()).toHaveLength(1);
  });

  it("a person may be faster than the handler, which is told; its late word counts for nothing", async () => {
    const late = deferred<ApprovalDecision>();
    const handler = vi.fn((_request: ApprovalRequest, _signal: AbortSignal) => late.promise);
    const { approvals, ask, resolutions } = setup({ handler });
    const asking = ask();
    approvals.decide("apr-1", { decision: "approve" });
    expect(handler.mock.calls[0]?.[1].aborted).toBe(true);
    late.resolve({ decision: "deny" });
    await settle();
    expect(await asking).toEqual({ decision: "approve" });
    expect(resolutions()).toMatchObject([{ by: "person", decision: "approve" }]);
  });
});
