import { TroupeError, type TroupeErrorOptions } from "../core/errors.js";

/** Why bytes from or to the outside were refused or lost. */
export type WireErrorCode =
  /** The URL is not on the allow-list. Nothing was sent. */
  | "origin_refused"
  /** The server answered with a redirect. It was not followed. */
  | "redirect_refused"
  /** No connection came about. Nothing was sent, so the request may be repeated. */
  | "unreachable"
  /** HTTP 401, 403 or 407. */
  | "unauthorized"
  /** HTTP 429, 502, 503 or 504. */
  | "overloaded"
  /** Any other HTTP status that is not a success. */
  | "http_status"
  /** More bytes than allowed. */
  | "too_large"
  /** Bytes that are not what they claim to be. */
  | "malformed"
  /** Nothing arrived for too long. */
  | "silent"
  /** The connection broke after the request may have been received. */
  | "interrupted";

/** Options of a {@link WireError}. */
export interface WireErrorOptions extends TroupeErrorOptions {
  readonly status?: number;
  readonly retryAfterMs?: number;
}

/** A failure at the edge. The message never holds a header value, a query or the text of a body. */
export class WireError extends TroupeError<WireErrorCode> {
  /** The HTTP status, when the server answered. */
  readonly status: number | undefined;
  /** What the server's `Retry-After` asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: WireErrorCode, message: string, options: WireErrorOptions = {}) {
    super(code, message, options);
    this.name = "WireError";
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }
}
