import assert from "node:assert/strict";
import type { ApprovalDecision } from "../core/approval.js";
import type { RunEvent } from "../core/run-event.js";
import type { DriverStep } from "./driver-kit.js";
import type { AddCheck } from "./driver-stage.js";
import { checkGrammar, type DriverStage, type StagedRun, stageRun } from "./driver-stage.js";

const ASK: readonly DriverStep[] = [
  { ask: { command: "touch made", output: "made-it" } },
  { say: "After: {{result.0}}" },
];

type Requested = Extract<RunEvent, { type: "approval.requested" }>;
type Resolved = Extract<RunEvent, { type: "approval.resolved" }>;

const requested = ({ events }: StagedRun) =>
  events.flatMap((event): Requested[] => (event.type === "approval.requested" ? [event] : []));
const resolved = ({ events }: StagedRun) =>
  events.flatMap((event): Resolved[] => (event.type === "approval.resolved" ? [event] : []));

/** Whether this driver asks at all; a driver that cannot is checked for saying so instead. */
async function asks(stage: DriverStage): Promise<boolean> {
  return (await stage.play([])).driver.describe().capabilities.approvals;
}

/** Permission: asked, allowed and denied by policy, decided by code, timed out, taken back. */
export function approvalChecks(add: AddCheck): void {
  add("a handler of approvals is refused before launch where the driver asks for none", async (stage) => {
    if (await asks(stage)) return;
    const onApproval = (): ApprovalDecision => ({ decision: "approve" });
    const staged = stageRun(await stage.play(ASK, { onApproval }));
    const { code, result } = await staged.failure();
    assert.equal(code, "capability_unsupported");
    assert.equal(result.raw.stdout, "");
    checkGrammar(staged.events);
  });

  for (const decision of ["approve", "deny"] as const)
    add(`a person is asked, and says ${decision === "approve" ? "yes" : "no"}`, async (stage) => {
      if (!(await asks(stage))) return;
      const staged = stageRun(await stage.play(ASK));
      await staged.seen(({ type }) => type === "approval.requested");
      const [question] = requested(staged);
      assert.equal(question?.approval.kind, "permission");
      assert.match(JSON.stringify([question.approval.title, question.approval.input]), /touch made/);
      const call = staged.events.find((event) => event.type === "tool.start");
      assert.equal(question.approval.toolCallId, call?.type === "tool.start" ? call.toolCallId : "none");
      const { approvalId } = question.approval;
      assert.equal(staged.run.decide(approvalId, { decision }), true);
      assert.equal(staged.run.decide(approvalId, { decision: "approve" }), false, "decided once");
      await staged.run.result.catch(() => undefined);
      checkGrammar(staged.events);
      assert.deepEqual(
        resolved(staged).map(({ decision: taken, by }) => [taken, by]),
        [[decision, "person"]],
      );
      checkOutcome(staged, decision === "approve");
    });

  for (const permissions of ["allow", "deny"] as const)
    add(`with permissions "${permissions}" nobody is asked`, async (stage) => {
      if (!(await asks(stage))) return;
      const staged = stageRun(await stage.play(ASK, { permissions }));
      await staged.run.result.catch(() => undefined);
      assert.deepEqual(requested(staged), []);
      checkGrammar(staged.events);
      checkOutcome(staged, permissions === "allow");
    });

  add("what nobody answers in time is denied", async (stage) => {
    if (!(await asks(stage))) return;
    const staged = stageRun(await stage.play(ASK, { approvalTimeoutMs: 20 }));
    await staged.run.result.catch(() => undefined);
    assert.deepEqual(
      resolved(staged).map(({ decision, by }) => [decision, by]),
      [["deny", "timeout"]],
    );
    checkOutcome(staged, false);
  });

  add("a handler decides before a person is needed, and its failure is a no", async (stage) => {
    if (!(await asks(stage))) return;
    const yes = stageRun(await stage.play(ASK, { onApproval: () => ({ decision: "approve" }) }));
    await yes.run.result;
    assert.deepEqual(
      resolved(yes).map(({ by }) => by),
      ["policy"],
    );
    checkOutcome(yes, true);
    const onApproval = () => {
      throw new Error("no");
    };
    const failing = stageRun(await stage.play(ASK, { onApproval }));
    await failing.run.result.catch(() => undefined);
    checkOutcome(failing, false);
  });

  add("a cancelled run takes its question back", async (stage) => {
    if (!(await asks(stage))) return;
    const staged = stageRun(await stage.play(ASK));
    await staged.seen(({ type }) => type === "approval.requested");
    await staged.run.cancel("user");
    assert.equal((await staged.failure()).code, "cancelled");
    assert.deepEqual(
      resolved(staged).map(({ decision }) => decision),
      ["deny"],
    );
    checkGrammar(staged.events);
  });
}

/** Whether the tool ran shows in what the model says next; a program may as well stop at a no. */
function checkOutcome({ events }: StagedRun, ran: boolean): void {
  const text = events.flatMap((event) => (event.type === "text.delta" ? event.delta : [])).join("");
  assert.equal(text.includes("made-it"), ran, text);
}
