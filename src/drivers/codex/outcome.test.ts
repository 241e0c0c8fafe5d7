import { describe, expect, test } from "vitest";
import { TroupeError } from "../../core/errors.js";
import { createRedactor } from "../process/redactor.js";
import { openError, outcomeOf, type RunFacts } from "./outcome.js";

const exit = { code: 0, signal: null, stderr: "" };
const facts: RunFacts = { executable: "codex", cancelled: false, exit, redact: (text) => text };
const failed = (message: string, codexErrorInfo?: unknown) =>
  outcomeOf({ ...facts, turn: { status: "failed", error: { message, codexErrorInfo } } }).error;

test("a completed turn is finished, with its text and a checkpoint", () => {
  const checkpoint = { driver: "codex", workspace: "/w", session: "s" };
  const turn = { status: "completed" };
  expect(outcomeOf({ ...facts, turn, text: "Done.", checkpoint })).toEqual({
    status: "finished",
    text: "Done.",
    checkpoint,
    terminal: turn,
  });
});

test("a cancel wins over everything else", () => {
  const fault = new TroupeError("protocol_error" as const, "x");
  expect(outcomeOf({ ...facts, cancelled: true, fault })).toEqual({ status: "cancelled" });
});

test("an interrupt that nobody asked for is a failure", () => {
  expect(outcomeOf({ ...facts, turn: { status: "interrupted" } })).toMatchObject({
    status: "failed",
    error: { code: "model_error" },
  });
});

test.each([
  ["unexpected status 401", { httpConnectionFailed: { httpStatusCode: 401 } }, "not_authenticated", false],
  ["no", "unauthorized", "not_authenticated", false],
  ["Your access token could not be refreshed. Please log in again.", "other", "not_authenticated", false],
  ["too long", "contextWindowExceeded", "limit_reached", false],
  ["used up", "usageLimitExceeded", "limit_reached", false],
  ["slow down", "rateLimitExceeded", "model_error", true],
  ["last status: 429", { responseTooManyFailedAttempts: { httpStatusCode: 429 } }, "model_error", true],
  ["no answer", { responseStreamDisconnected: { httpStatusCode: null } }, "model_error", true],
  ["stream disconnected before completion", "other", "model_error", true],
  ["bad thing", "other", "model_error", false],
  ["gone", { httpConnectionFailed: { httpStatusCode: 404 } }, "model_error", false],
] as const)("%s, %j: %s, retryable %s", (message, info, code, retryable) => {
  expect(failed(message, info)).toMatchObject({ code, retryable });
});

test("the program's words are capped and without credentials", () => {
  const redact = createRedactor(["s3cret-value"]);
  const turn = { status: "failed", error: { message: `s3cret-value ${"x".repeat(5_000)}` } };
  const { error } = outcomeOf({ ...facts, turn, redact });
  expect(error?.message).toMatch(/^\[redacted\] x+$/);
  expect(error?.message.length).toBeLessThan(1_100);
});

describe("an exit without a turn", () => {
  test.each([
    ["error: unrecognized subcommand 'app-server'", "program_too_old"],
    ["Error: stdin is not a terminal", "program_too_old"],
    ["Not logged in", "not_authenticated"],
    ["panicked", "program_died"],
  ])("%s: %s", (stderr, code) => {
    expect(outcomeOf({ ...facts, exit: { ...exit, code: 1, stderr } }).error).toMatchObject({ code });
  });
});

describe("a thread that cannot be opened", () => {
  const open = (message: string, resumed?: string) =>
    openError("codex", new TroupeError("protocol_error", message), (text) => text, resumed);

  test("it is gone", () => {
    expect(open("no rollout found for thread id x", "x")).toMatchObject({ code: "resume_failed" });
    expect(open("invalid session id: invalid character", "x")).toMatchObject({ code: "resume_failed" });
    expect(open("no rollout found for thread id x")).toMatchObject({ code: "protocol_error" });
  });

  test("a server that is needed, without the names of inner types", () => {
    const error = open(
      "error creating thread: Fatal error: Failed to initialize session: required MCP servers failed to initialize: x: handshaking with MCP server failed: Send message error Transport [codex::A<b::C<D>>] error: HTTP 401: no",
    );
    expect(error).toMatchObject({ code: "protocol_error", retryable: true });
    expect(error.message).toBe(
      "Codex could not use an MCP server that the run needs: x: handshaking with MCP server failed: Send message error Transport error: HTTP 401: no",
    );
  });

  test("it does not know the request", () => {
    expect(open("Invalid request: unknown variant `thread/start`, expected one of")).toMatchObject({
      code: "program_too_old",
    });
  });
});
