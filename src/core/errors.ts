/** Options of a {@link TroupeError}. */
export interface TroupeErrorOptions {
  /** Whether the same request may succeed later without a change. Default `false`. */
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/**
 * Every error that Troupe raises on purpose. `code` is a closed set per floor ({@link RunErrorCode}, and the delegation's own);
 * `message` is written for the person who has to act on it and never holds a credential.
 */
export class TroupeError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly retryable: boolean;

  constructor(code: Code, message: string, options: TroupeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "TroupeError";
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}

/** Why a run could not start, or ended without success. */
export type RunErrorCode =
  | "program_missing"
  | "program_too_old"
  | "program_died"
  | "not_authenticated"
  | "protocol_error"
  | "model_error"
  | "limit_reached"
  | "resume_failed"
  | "capability_unsupported"
  | "thread_busy"
  | "invalid_input"
  | "cancelled"
  | "host_stopped"
  | "internal";

/** The text of an unknown thrown value, capped at `limit` characters; never a stack. */
export function errorText(error: unknown, limit = 500): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}
