import { expect, test } from "vitest";
import { createRedactor } from "../process/redactor.js";
import { outcomeOf, type RunFacts } from "./outcome.js";

function facts(changes: Partial<RunFacts> & { stderr?: string; code?: number | null }): RunFacts {
  const { stderr = "", code = 1, ...rest } = changes;
  return {
    executable: "claude",
    cancelled: false,
    exit: { code, signal: null, stderr },
    redact: createRedactor(["s3cret-value"]),
    ...rest,
  };
}

const checkpoint = { driver: "claude", workspace: "/w", session: "s" };

test("a clean result finishes and may be gone on from", () => {
  const result = { type: "result", subtype: "success", is_error: false, result: "Hi" };
  expect(outcomeOf(facts({ result, checkpoint, code: 0 }))).toEqual({
    status: "finished",
    text: "Hi",
    checkpoint,
    terminal: result,
  });
});

test("is_error counts, not subtype: a failed request is a success there", () => {
  const result = {
    subtype: "success",
    is_error: true,
    api_error_status: 529,
    terminal_reason: "api_error",
    result: "API Error: overloaded s3cret-value",
  };
  expect(outcomeOf(facts({ result, checkpoint }))).toMatchObject({
    status: "failed",
    error: { code: "model_error", message: "API Error: overloaded [redacted]", retryable: true },
  });
  expect(outcomeOf(facts({ result, checkpoint }))).not.toHaveProperty("checkpoint");
  expect(outcomeOf(facts({ result: { ...result, api_error_status: 400 } })).error?.retryable).toBe(false);
  expect(outcomeOf(facts({ result: { ...result, api_error_status: null } })).error?.retryable).toBe(true);
});

test.each([
  ["a 401", { is_error: true, api_error_status: 401, result: "Invalid API key · Fix external API key" }],
  ["no login", { is_error: true, api_error_status: null, result: "Not logged in · Please run /login" }],
])("not authenticated by %s says what to do", (_, result) => {
  const { error } = outcomeOf(facts({ result }));
  expect(error?.code).toBe("not_authenticated");
  expect(error?.message).toContain("/login");
  expect(error?.message).toContain("ANTHROPIC_API_KEY");
});

test("the limit of turns is a limit", () => {
  const result = {
    subtype: "error_max_turns",
    is_error: true,
    terminal_reason: "max_turns",
    errors: ["Reached maximum number of turns (2)"],
  };
  expect(outcomeOf(facts({ result })).error).toMatchObject({
    code: "limit_reached",
    message: "Claude Code stopped at its limit: Reached maximum number of turns (2).",
  });
});

test("a session that is not there cannot be resumed, by result or by standard error", () => {
  const text = "No conversation found with session ID: abc";
  for (const change of [{ result: { is_error: true, errors: [text] } }, { stderr: text }]) {
    expect(outcomeOf(facts({ ...change, resumed: "abc" })).error).toMatchObject({
      code: "resume_failed",
      retryable: false,
    });
  }
});

test("an unknown option means a program that is too old", () => {
  const { error } = outcomeOf(facts({ stderr: "error: unknown option '--await-initialize'" }));
  expect(error).toMatchObject({ code: "program_too_old" });
  expect(error?.message).toContain("claude update");
});

test("an exit without a result tells code or signal and the last words, without secrets", () => {
  expect(outcomeOf(facts({ code: 3, stderr: "panic at s3cret-value" })).error).toMatchObject({
    code: "program_died",
    message: "Claude Code ended without a result (exit code 3). Its last words: panic at [redacted]",
  });
  const exit = { code: null, signal: "SIGKILL" as const, stderr: "" };
  expect(outcomeOf(facts({ exit })).error?.message).toBe(
    "Claude Code ended without a result (signal SIGKILL). It said nothing on standard error.",
  );
});

test("case 034: a cancel wins over whatever the program said last", () => {
  const result = { subtype: "error_during_execution", is_error: true, terminal_reason: "aborted_tools" };
  expect(outcomeOf(facts({ cancelled: true, result }))).toEqual({ status: "cancelled", terminal: result });
});
