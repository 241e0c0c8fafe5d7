import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { TroupeError } from "../core/errors.js";
import { logText } from "../core/log-text.js";
import type { ErrorAnswer } from "./routes/shapes.js";

/** An error that a route answers with. */
export class HttpError extends Error {
  constructor(
    readonly status: ContentfulStatusCode,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const STATUS: Record<string, ContentfulStatusCode> = {
  invalid_input: 400,
  thread_busy: 409,
  agent_not_found: 404,
  host_busy: 429,
  host_closed: 503,
  host_silent: 503,
  journal_unavailable: 503,
  journal_full: 503,
  journal_failed: 503,
  journal_read_only: 503,
  journal_locked: 503,
  nothing_asked: 409,
  capability_unsupported: 409,
  agent_unavailable: 502,
  remote_rejected: 502,
};

/** The body of every error: `{ error: { code, message, retryable? } }`. What is unexpected tells nothing of its inside. */
export function errorResponse(context: Context, error: unknown): Response {
  if (error instanceof HttpError) {
    const { code, message, status } = error;
    return context.json({ error: { code, message } } satisfies ErrorAnswer, status);
  }
  if (error instanceof TroupeError && STATUS[error.code] !== undefined) {
    const { code, message, retryable } = error;
    return context.json({ error: { code, message, ...(retryable ? { retryable } : {}) } }, STATUS[code]);
  }
  console.error("Unexpected error while answering a request:", logText(error));
  return context.json({ error: { code: "internal", message: "The host failed. Its log says why." } }, 500);
}

/** For everything that does not exist, or not for this caller. */
export function notFound(what: string): HttpError {
  return new HttpError(404, "not_found", `There is no such ${what}.`);
}
