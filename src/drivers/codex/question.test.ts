import { expect, test } from "vitest";
import { readQuestion } from "./question.js";

const calls = { inputOf: () => undefined, callOf: () => undefined };
const approve = { decision: "approve" } as const;
const deny = { decision: "deny" } as const;

test("more permissions: given for the turn, or none", () => {
  const permissions = { network: { enabled: true } };
  const question = readQuestion("item/permissions/requestApproval", { permissions, itemId: "i" }, calls);
  expect(question?.ask).toMatchObject({ kind: "permission", toolCallId: "i", input: { permissions } });
  expect(question?.answer(approve)).toEqual({ permissions, scope: "turn" });
  expect(question?.answer(deny)).toEqual({ permissions: {}, scope: "turn" });
});

test("the program's own questions become one form", () => {
  const questions = [
    { id: "q1", header: "Which", question: "Which one?", options: [{ label: "A" }, { label: "B" }] },
    { id: "q2", header: "Why", question: "Why?", options: null },
  ];
  const question = readQuestion("item/tool/requestUserInput", { questions, itemId: "i" }, calls);
  expect(question?.ask).toMatchObject({
    kind: "question",
    title: "Which one?",
    schema: {
      properties: { q1: { type: "string", title: "Which", examples: ["A", "B"] }, q2: { title: "Why" } },
      required: ["q1", "q2"],
    },
  });
  expect(question?.answer({ ...approve, input: { q1: "A", q2: 7, other: "x" } })).toEqual({
    answers: { q1: { answers: ["A"] } },
  });
  expect(question?.answer(deny)).toEqual({ answers: {} });
});

test("a page to visit is asked with its address and has no form", () => {
  const params = { serverName: "s", mode: "url", message: "Log in", url: "https://x.example" };
  const question = readQuestion("mcpServer/elicitation/request", params, calls);
  expect(question?.ask).toMatchObject({ title: "Log in", input: { server: "s", url: "https://x.example" } });
  expect(question?.answer(approve)).toEqual({ action: "accept", content: null, _meta: null });
  expect(question?.answer(deny)).toEqual({ action: "decline", content: null, _meta: null });
});

test.each([
  ["item/tool/call", {}],
  ["item/tool/requestUserInput", { questions: "none" }],
  ["mcpServer/elicitation/request", { mode: "openai/userVerification" }],
])("%s is nothing that a person decides", (method, params) => {
  expect(readQuestion(method, params, calls)).toBeUndefined();
});

test("a network request and a long command have titles of one line", () => {
  const network = { networkApprovalContext: { host: "x.example", protocol: "https" } };
  expect(readQuestion("item/commandExecution/requestApproval", network, calls)?.ask).toMatchObject({
    title: "Run connect to x.example",
  });
  const long = { command: `echo\n${"x".repeat(500)}` };
  const { title = "" } = readQuestion("item/commandExecution/requestApproval", long, calls)?.ask ?? {};
  expect(title).toMatch(/^Run echo x+…$/);
  expect(title.length).toBeLessThan(140);
});

test("a permission for an MCP tool is one also where the request does not name the tool", () => {
  const params = { serverName: "s", mode: "form", _meta: { codex_approval_kind: "mcp_tool_call" } };
  const known = { inputOf: () => undefined, callOf: () => ({ toolCallId: "c", tool: "look" }) };
  const question = readQuestion("mcpServer/elicitation/request", params, known);
  expect(question?.ask).toMatchObject({ kind: "permission", tool: "mcp__s__look", toolCallId: "c" });
  expect(question?.answer(deny)).toMatchObject({ action: "decline" });
  expect(readQuestion("mcpServer/elicitation/request", params, calls)?.ask).toMatchObject({
    kind: "permission",
    tool: "mcp__s__a tool",
  });
});
