import { TroupeError } from "../core/errors.js";

/** Why a request to a host failed, as a client sees it. */
export type ClientErrorCode =
  /** No valid credential (401). */
  | "unauthorized"
  /** A valid credential that may not do this (403). */
  | "forbidden"
  /** No such thread, run, delegation, approval or agent (404). */
  | "not_found"
  /** It was decided, answered or started already (409). */
  | "conflict"
  /** The host refused the request as it is (any other 4xx). */
  | "invalid_input"
  /** The host answered that it cannot serve now (408, 425, 429, 5xx). */
  | "unavailable"
  /** No answer: no connection, or none in time. */
  | "unreachable"
  /** An answer that is not what a host gives, such as the page of a proxy. */
  | "protocol_error";

/** More about a {@link ClientError}. */
export interface ClientErrorDetails {
  /** The HTTP status, when there was an answer. */
  readonly status?: number;
  /** The host's own error code, when it named one. */
  readonly hostCode?: string;
  /** Milliseconds after which the host wants to be asked again. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

const RETRYABLE: ReadonlySet<ClientErrorCode> = new Set<ClientErrorCode>(["unavailable", "unreachable"]);

/** A failed request to a host. `retryable` says whether the same request may succeed later. */
export class ClientError extends TroupeError<ClientErrorCode> {
  readonly status: number | undefined;
  readonly hostCode: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: ClientErrorCode, message: string, details: ClientErrorDetails = {}) {
    super(code, message, { retryable: RETRYABLE.has(code), cause: details.cause });
    this.name = "ClientError";
    this.status = details.status;
    this.hostCode = details.hostCode;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Characters of a host's error message that are kept. */
const MESSAGE_LIMIT = 500;
/** An error answer is small; a larger one is not read to its end. */
const ERROR_BODY_LIMIT = 16_384;

/** Turns an answer that is not a success into a {@link ClientError}. Reads a bounded part of the body. */
export async function errorOfResponse(response: Response): Promise<ClientError> {
  const told = hostError(await boundedText(response));
  const retryAfterMs = retryAfter(response.headers.get("retry-after"));
  return new ClientError(
    codeOfStatus(response.status),
    told.message ?? `The host answered with status ${response.status}.`,
    {
      status: response.status,
      ...(told.code !== undefined && { hostCode: told.code }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    },
  );
}

function codeOfStatus(status: number): ClientErrorCode {
  if (status === 401) return "unauthorized";
  if (status === 403) return "forbidden";
  if (status === 404) return "not_found";
  if (status === 409) return "conflict";
  if (status === 408 || status === 425 || status === 429 || status >= 500) return "unavailable";
  if (status >= 400) return "invalid_input";
  return "protocol_error";
}

function hostError(text: string): { code?: string; message?: string } {
  try {
    const error: unknown = (JSON.parse(text) as { error?: unknown } | null)?.error;
    if (typeof error !== "object" || error === null) return {};
    const { code, message } = error as { code?: unknown; message?: unknown };
    return {
      ...(typeof code === "string" && { code: code.slice(0, 100) }),
      ...(typeof message === "string" && message !== "" && { message: message.slice(0, MESSAGE_LIMIT) }),
    };
  } catch {
    return {};
  }
}

async function boundedText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (text.length < ERROR_BODY_LIMIT) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    // The status alone says enough.
  } finally {
    reader.cancel().catch(() => undefined);
  }
  return text;
}

function retryAfter(header: string | null): number | undefined {
  const seconds = Number(header ?? "");
  return header !== null && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}
