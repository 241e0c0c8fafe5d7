import { expect, test } from "vitest";
import type { ApprovalDecision } from "../../core/approval.js";
import { ControlChannel } from "./control-channel.js";

interface Asked {
  readonly request: Parameters<ConstructorParameters<typeof ControlChannel>[0]["approve"]>[0];
  readonly withdrawn: AbortSignal;
}

function channel(decide: () => Promise<ApprovalDecision> = async () => ({ decision: "approve" })) {
  const sent: unknown[] = [];
  const asked: Asked[] = [];
  const control = new ControlChannel({
    send: (frame) => sent.push(frame),
    approve: (request, withdrawn) => {
      asked.push({ request, withdrawn });
      return decide();
    },
  });
  return { control, sent, asked };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));
const response = (id: string, body: object) => ({
  type: "control_response",
  response: { subtype: "success", request_id: id, response: body },
});
const permission = (fields: object = {}) => ({
  type: "control_request",
  request_id: "r1",
  request: {
    subtype: "can_use_tool",
    tool_name: "Bash",
    input: { command: "ls" },
    tool_use_id: "t1",
    description: "List\nfiles",
    ...fields,
  },
});

test("a request gets its own response, a refusal is an error", async () => {
  const { control, sent } = channel();
  const first = control.request({ subtype: "initialize" });
  const second = control.request({ subtype: "interrupt" });
  control.frame({
    type: "control_response",
    response: { subtype: "error", request_id: "troupe-2", error: "not now" },
  });
  control.frame(response("troupe-1", { pid: 1 }));
  control.frame(response("unknown", {}));
  expect(sent[0]).toEqual({
    type: "control_request",
    request_id: "troupe-1",
    request: { subtype: "initialize" },
  });
  expect(await first).toEqual({ pid: 1 });
  await expect(second).rejects.toMatchObject({ code: "protocol_error", message: "not now" });
});

test("other frames are not its business", () => {
  expect(channel().control.frame({ type: "assistant" })).toBe(false);
  expect(channel().control.frame(null)).toBe(false);
});

test("a permission is asked with its call and answered with its arguments", async () => {
  const { control, sent, asked } = channel();
  expect(control.frame(permission())).toBe(true);
  await settle();
  expect(asked[0]?.request).toEqual({
    kind: "permission",
    title: "Use Bash: List files",
    tool: "Bash",
    input: { command: "ls" },
    toolCallId: "t1",
  });
  expect(sent).toEqual([response("r1", { behavior: "allow", updatedInput: { command: "ls" } })]);
});

test("changed arguments and refusals reach the program", async () => {
  const edited = channel(async () => ({ decision: "approve", input: { command: "pwd" } }));
  edited.control.frame(permission());
  const denied = channel(async () => ({ decision: "deny", message: "not here" }));
  denied.control.frame(permission());
  const broken = channel(() => Promise.reject(new Error("x")));
  broken.control.frame(permission());
  await settle();
  expect(edited.sent).toEqual([response("r1", { behavior: "allow", updatedInput: { command: "pwd" } })]);
  expect(denied.sent).toEqual([response("r1", { behavior: "deny", message: "not here" })]);
  expect(broken.sent).toEqual([
    response("r1", { behavior: "deny", message: "The question could not be asked." }),
  ]);
});

test("a question that the program takes back is withdrawn and not answered", async () => {
  let decide: (decision: ApprovalDecision) => void = () => {};
  const { control, sent, asked } = channel(
    () =>
      new Promise((resolve) => {
        decide = resolve;
      }),
  );
  control.frame(permission());
  control.frame({ type: "control_cancel_request", request_id: "r1" });
  expect(asked[0]?.withdrawn.aborted).toBe(true);
  decide({ decision: "approve" });
  await settle();
  expect(sent).toEqual([]);
});

test("a repeated request is asked once, and closing withdraws what is open", () => {
  const { control, asked } = channel(() => new Promise(() => {}));
  control.frame(permission());
  control.frame(permission());
  control.close();
  expect(asked.map(({ withdrawn }) => withdrawn.aborted)).toEqual([true]);
});

test("a plan is a plan", async () => {
  const { control, asked } = channel();
  control.frame(permission({ tool_name: "ExitPlanMode", input: { plan: "1. Do it" } }));
  expect(asked[0]?.request).toMatchObject({
    kind: "plan",
    title: "Approve the plan",
    input: { plan: "1. Do it" },
  });
});

test("case 072: the program's own questions become a form, and the answers go back with the questions", async () => {
  const questions = [
    { question: "Which colour?", header: "Colour", options: [{ label: "Red" }, { label: "Blue" }] },
  ];
  const { control, sent, asked } = channel(async () => ({
    decision: "approve",
    input: { "Which colour?": "Blue" },
  }));
  control.frame(permission({ tool_name: "AskUserQuestion", input: { questions } }));
  await settle();
  expect(asked[0]?.request).toMatchObject({
    kind: "question",
    title: "Which colour?",
    toolCallId: "t1",
    schema: {
      type: "object",
      required: ["Which colour?"],
      properties: { "Which colour?": { type: "string", title: "Colour", examples: ["Red", "Blue"] } },
    },
  });
  expect(sent).toEqual([
    response("r1", { behavior: "allow", updatedInput: { questions, answers: { "Which colour?": "Blue" } } }),
  ]);
});

test("an MCP server's question carries its schema and is accepted or declined", async () => {
  const schema = { type: "object", properties: { folder: { type: "string" } } };
  const elicitation = {
    type: "control_request",
    request_id: "e1",
    request: {
      subtype: "elicitation",
      mcp_server_name: "a2a",
      message: "Which folder?",
      mode: "form",
      requested_schema: schema,
    },
  };
  const accepted = channel(async () => ({ decision: "approve", input: { folder: "/srv" } }));
  accepted.control.frame(elicitation);
  const declined = channel(async () => ({ decision: "deny" }));
  declined.control.frame(elicitation);
  await settle();
  expect(accepted.asked[0]?.request).toEqual({
    kind: "question",
    title: "Which folder?",
    input: { server: "a2a" },
    schema,
  });
  expect(accepted.sent).toEqual([response("e1", { action: "accept", content: { folder: "/srv" } })]);
  expect(declined.sent).toEqual([response("e1", { action: "decline" })]);
});

test("an unknown request is refused instead of left waiting", () => {
  const { control, sent } = channel();
  control.frame({ type: "control_request", request_id: "h1", request: { subtype: "hook_callback" } });
  expect(sent).toEqual([
    {
      type: "control_response",
      response: { subtype: "error", request_id: "h1", error: "Unsupported control request: hook_callback" },
    },
  ]);
});

test("an answer that JSON cannot hold is refused instead of lost", async () => {
  const sent: unknown[] = [];
  const control = new ControlChannel({
    send: (frame) => sent.push(JSON.parse(JSON.stringify(frame))),
    approve: async () => ({ decision: "approve", input: { count: 1n } }),
  });
  control.frame(permission());
  await settle();
  expect(sent).toEqual([
    {
      type: "control_response",
      response: { subtype: "error", request_id: "r1", error: "The answer could not be sent." },
    },
  ]);
});
