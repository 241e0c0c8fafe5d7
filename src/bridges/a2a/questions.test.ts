import { describe, expect, it } from "vitest";
import type { ApprovalRequest } from "../../core/approval.js";
import { dataPart, textPart, userMessage } from "./parts.js";
import { readAnswer } from "./questions.js";

const identity = { taskId: "t", contextId: "c" };
const permission: ApprovalRequest = { approvalId: "p", kind: "permission", title: "May I?", expiresAt: 0 };
const question: ApprovalRequest = {
  approvalId: "q",
  kind: "question",
  title: "Which colour?",
  schema: { type: "object", properties: { "Which colour?": { type: "string" } } },
  expiresAt: 0,
};

const said = (text: string) => userMessage("m", identity, text);
const given = (value: unknown, ...more: string[]) => ({
  ...said(""),
  parts: [dataPart(value), ...more.map(textPart)],
});

describe("consent", () => {
  it.each(["yes", "Yes.", "OK", "approve", "allow", "go ahead", "y"])("%j is a yes", (text) => {
    expect(readAnswer(said(text), [permission])?.decision).toEqual({ decision: "approve" });
  });

  it.each(["no", "Deny", "reject", "stop", ""])("%j is a no", (text) => {
    expect(readAnswer(said(text), [permission])?.decision).toEqual({ decision: "deny" });
  });

  it.each(["yes, but only in src", "not yes", "ok, no", "what does it do?"])(
    "%j is no consent, and the agent is told it",
    (text) => {
      expect(readAnswer(said(text), [permission])?.decision).toEqual({ decision: "deny", message: text });
    },
  );

  it("is what the data says, before any words", () => {
    expect(readAnswer(given({ decision: "deny", message: "never" }, "yes"), [permission])?.decision).toEqual({
      decision: "deny",
      message: "never",
    });
    expect(readAnswer(given({ decision: "approve" }), [permission])?.decision).toEqual({
      decision: "approve",
    });
    expect(readAnswer(given({ decision: "maybe" }), [permission])?.decision).toEqual({ decision: "deny" });
  });
});

describe("answers", () => {
  it("to a form are its data, or the words as its one field", () => {
    const input = { "Which colour?": "blue" };
    expect(readAnswer(given(input), [question])?.decision).toEqual({ decision: "approve", input });
    expect(readAnswer(said("blue"), [question])?.decision).toEqual({ decision: "approve", input });
  });

  it("are for the oldest question, or for the one that they name", () => {
    expect(readAnswer(said("yes"), [permission, question])?.approval).toBe(permission);
    const named = given({ approvalId: "q", "Which colour?": "red" });
    expect(readAnswer(named, [permission, question])).toEqual({
      approval: question,
      decision: { decision: "approve", input: { "Which colour?": "red" } },
    });
    expect(readAnswer(given({ approvalId: "other" }), [permission])).toBeUndefined();
    expect(readAnswer(said("yes"), [])).toBeUndefined();
  });
});
