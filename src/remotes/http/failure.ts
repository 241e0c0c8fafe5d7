import type { DelegationErrorCode } from "../../delegation/events.js";
import type { WireError } from "../../wire/errors.js";

/** Why a call to a remote did not work. */
export interface Failure {
  readonly code: DelegationErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  /** The request may have been received: whether the task runs is not known. */
  readonly ambiguous: boolean;
}

/** What {@link wireFailure} may name. */
export interface WireFailureContext {
  readonly agent: string;
  readonly redact: (text: string) => string;
  /** Where the entry says which address is called, as in "Check the URL of its entry". */
  readonly endpoint: string;
}

/** What a call that the edge refused or lost means for a task. */
export function wireFailure(error: WireError, context: WireFailureContext): Failure {
  const agent = `The agent "${context.agent}"`;
  const failure = (
    code: DelegationErrorCode,
    message: string,
    retryable = false,
    ambiguous = false,
  ): Failure => ({ code, message: context.redact(message), retryable, ambiguous });
  switch (error.code) {
    case "origin_refused":
    case "redirect_refused":
      return failure(
        "policy_denied",
        `${agent}: ${error.message} If it is right, add its origin to trustedOrigins.`,
      );
    case "unreachable":
      return failure(
        "agent_unavailable",
        `${agent} cannot be reached: ${error.message} Check that it runs.`,
        true,
      );
    case "unauthorized":
      return failure("agent_unavailable", `${agent}: ${error.message} Check the auth of its entry.`);
    case "overloaded":
      return failure("agent_unavailable", `${agent}: ${error.message}`, true);
    case "too_large":
      return failure("artifact_too_large", `${agent} sent too much: ${error.message}`, false, true);
    case "http_status": {
      const { status = 0 } = error;
      if (status === 400 || status === 415 || status === 422)
        return failure("remote_rejected", `${agent}: ${error.message}`);
      if (status === 413)
        return failure("invalid_input", `${agent}: ${error.message} The task is too large for it.`);
      if (status < 500)
        return failure("agent_unavailable", `${agent}: ${error.message} Check ${context.endpoint}.`);
      return failure("remote_failed", `${agent}: ${error.message}`, false, true);
    }
    case "silent":
    case "interrupted":
    case "malformed":
      return failure("stream_interrupted", `${agent}: ${error.message}`, false, true);
  }
}
