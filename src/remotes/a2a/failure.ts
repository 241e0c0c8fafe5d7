import {
  A2AError,
  ContentTypeNotSupportedError,
  ExtensionSupportRequiredError,
  isRestError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
  VersionNotSupportedError,
} from "@a2a-js/sdk/errors";
import { TroupeError } from "../../core/errors.js";
import type { DelegationErrorCode } from "../../delegation/events.js";
import { WireError } from "../../wire/errors.js";
import { printableUrl } from "../../wire/origin.js";
import { type Failure, wireFailure } from "../http/failure.js";
import { capText } from "../http/words.js";
import { RpcError } from "./channel.js";

export type { Failure } from "../http/failure.js";

/** What {@link describeFailure} may name. */
export interface FailureContext {
  readonly agent: string;
  readonly url: string;
  readonly redact: (text: string) => string;
}

interface Refusal {
  readonly code: DelegationErrorCode;
  readonly verb: string;
}

const REFUSED: Refusal = { code: "remote_rejected", verb: "refused the task" };

/** Specification 9.5, and JSON-RPC 2.0, section 5.1. */
const RPC_CODES: ReadonlyMap<number, Refusal> = new Map<number, Refusal>([
  [-32009, { code: "capability_unsupported", verb: "does not speak this version" }],
  [-32008, { code: "capability_unsupported", verb: "requires an extension" }],
  [-32601, { code: "capability_unsupported", verb: "does not know the method" }],
  [-32600, REFUSED],
  [-32602, REFUSED],
  [-32001, REFUSED],
  [-32002, REFUSED],
  [-32004, REFUSED],
  [-32005, REFUSED],
]);

/** Characters of a remote's own words in an error. */
const MAX_REMOTE_WORDS = 300;

/** The SDK wraps an error that comes within a stream. */
function unwrap(error: unknown): unknown {
  return error instanceof Error && !(error instanceof A2AError) && error.cause instanceof A2AError
    ? error.cause
    : error;
}

/** Specification 9.5. */
const TASK_NOT_FOUND = -32001;

/** Whether the remote says that it does not know the task. Some have one code for everything. */
export function isTaskNotFound(error: unknown): boolean {
  if (error instanceof RpcError)
    return error.code === TASK_NOT_FOUND || /\btask not found\b/i.test(error.message);
  return unwrap(error) instanceof TaskNotFoundError;
}

/** Whether the remote answered, and said no: whatever was asked was not done. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof RpcError || unwrap(error) instanceof A2AError) return true;
  return error instanceof WireError && error.code === "http_status" && (error.status ?? 500) < 500;
}

/** Makes of anything that a call can throw a typed failure that says what to do. */
export function describeFailure(thrown: unknown, context: FailureContext): Failure {
  const error = unwrap(thrown);
  const agent = `The agent "${context.agent}"`;
  const where = `${agent} (${printableUrl(context.url)})`;
  const failure = (
    code: DelegationErrorCode,
    message: string,
    retryable = false,
    ambiguous = false,
  ): Failure => ({
    code,
    message: context.redact(message),
    retryable,
    ambiguous,
  });
  if (error instanceof WireError)
    return wireFailure(error, { ...context, endpoint: "the endpoint of its card" });
  if (error instanceof TroupeError)
    return failure(error.code as DelegationErrorCode, error.message, error.retryable);
  if (error instanceof A2AError || error instanceof RpcError) {
    const { code, verb } = refusal(error);
    const words = capText(context.redact(error.message).replaceAll(/\s+/g, " ").trim(), MAX_REMOTE_WORDS);
    return failure(code, `${where} ${verb}: ${words}`);
  }
  // The SDK's plain errors quote bodies, so their text is not passed on.
  return failure(
    "remote_failed",
    `${where} gave an answer that is not A2A. Check that its card names the right endpoint.`,
    false,
    true,
  );
}

/** What the remote's error class means; whatever it is, the task was not taken. */
function refusal(error: unknown): Refusal {
  if (error instanceof RpcError) {
    const known = RPC_CODES.get(error.code);
    if (known !== undefined) return known;
  }
  if (error instanceof VersionNotSupportedError)
    return { code: "capability_unsupported", verb: "does not speak this version" };
  if (error instanceof ExtensionSupportRequiredError)
    return { code: "capability_unsupported", verb: "requires an extension" };
  const rejected =
    error instanceof UnsupportedOperationError ||
    error instanceof ContentTypeNotSupportedError ||
    error instanceof RequestMalformedError ||
    error instanceof TaskNotFoundError ||
    error instanceof TaskNotCancelableError;
  if (rejected) return { code: "remote_rejected", verb: "refused the task" };
  if (isRestError(error) && (error.statusCode === 404 || error.statusCode === 405)) {
    return { code: "agent_unavailable", verb: "has nothing at that URL" };
  }
  return { code: "remote_failed", verb: "answered with an error" };
}
