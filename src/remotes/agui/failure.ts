import { TroupeError } from "../../core/errors.js";
import type { DelegationErrorCode } from "../../delegation/events.js";
import { WireError } from "../../wire/errors.js";
import { type Failure, wireFailure } from "../http/failure.js";
import { capText } from "../http/words.js";
import { isJson, textIn } from "./json.js";

/** Characters of a server's own words in an error. */
const MAX_REMOTE_WORDS = 300;

/** An answer that is an error, with what the server said about it. */
export class RefusedRun extends Error {
  constructor(
    readonly status: number,
    body: unknown,
  ) {
    super(wordsOf(body) ?? "it did not say why");
    this.name = "RefusedRun";
  }
}

/** An answer that is no stream of AG-UI events. */
export class NotAgui extends Error {
  constructor(what: string) {
    super(what);
    this.name = "NotAgui";
  }
}

/** Makes of anything that a call can throw a typed failure that says what to do. */
export function describeFailure(
  error: unknown,
  context: { readonly agent: string; readonly redact: (text: string) => string },
): Failure {
  const agent = `The agent "${context.agent}"`;
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
  if (error instanceof WireError) {
    if (error.code === "malformed")
      return failure("remote_failed", `${agent}: ${error.message}`, false, true);
    return wireFailure(error, { ...context, endpoint: "the url of its entry" });
  }
  if (error instanceof TroupeError)
    return failure(error.code as DelegationErrorCode, error.message, error.retryable);
  if (error instanceof RefusedRun) {
    const { status } = error;
    // Redacted before it is cut: half a credential is not recognised.
    const words = capText(context.redact(error.message).replaceAll(/\s+/g, " ").trim(), MAX_REMOTE_WORDS);
    const text = `${agent} answered HTTP ${status}: ${words}`;
    if (status === 404 || status === 405)
      return failure("agent_unavailable", `${text}. Check the url of its entry.`);
    if (status === 409 || status === 423) return failure("agent_unavailable", text, true);
    return failure(status < 500 ? "remote_rejected" : "remote_failed", text, false, status >= 500);
  }
  if (error instanceof NotAgui)
    return failure(
      "capability_unsupported",
      `${agent} does not speak AG-UI there: ${error.message}.`,
      false,
      true,
    );
  return failure("remote_failed", `${agent} could not be called.`, false, true);
}

function wordsOf(body: unknown): string | undefined {
  if (!isJson(body)) return undefined;
  const error = isJson(body.error) ? textIn(body.error, "message") : textIn(body, "error");
  const words = error ?? textIn(body, "message") ?? textIn(body, "detail");
  return words?.trim() === "" ? undefined : words;
}
