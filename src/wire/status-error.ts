import { WireError } from "./errors.js";
import type { AnswerHead } from "./exchange.js";
import { printableUrl } from "./origin.js";

/** The longest `Retry-After` that is believed, in milliseconds: one day. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/** The error that the status of an answer means; `undefined` for a success and for 304. */
export function statusError(
  { status, headers }: AnswerHead,
  url: string,
  now: number,
): WireError | undefined {
  if ((status >= 200 && status < 300) || status === 304) return undefined;
  const where = printableUrl(url);
  if (status >= 300 && status < 400) {
    return new WireError(
      "redirect_refused",
      `${where} answered with a redirect (HTTP ${status}), which is not followed.`,
      {
        status,
      },
    );
  }
  if (status === 401 || status === 403 || status === 407) {
    return new WireError(
      "unauthorized",
      `${where} refused the credential or the lack of one (HTTP ${status}).`,
      { status },
    );
  }
  if (status === 429 || status === 502 || status === 503 || status === 504) {
    const retryAfterMs = retryAfter(headers.get("retry-after"), now);
    const hint = retryAfterMs === undefined ? "" : `; it asks to wait ${Math.ceil(retryAfterMs / 1000)} s`;
    return new WireError("overloaded", `${where} is not available at the moment (HTTP ${status})${hint}.`, {
      status,
      retryable: true,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }
  return new WireError("http_status", `${where} answered with HTTP ${status}.`, { status });
}

/** RFC 9110, 10.2.3: seconds or a date. */
function retryAfter(header: string | null, now: number): number | undefined {
  const text = header?.trim();
  if (!text) return undefined;
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(milliseconds) ? Math.min(Math.max(0, milliseconds), MAX_RETRY_AFTER_MS) : undefined;
}
