import { WireError } from "./errors.js";
import { printableUrl } from "./origin.js";

/** undici's codes for a connection that never stood. After any other failure the request may have been received. */
const NEVER_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/**
 * What a call that failed, or a body that broke, means.
 * @param stopped why the call was ended from this side, if it was
 */
export function connectionError(
  error: unknown,
  stopped: { readonly reason: unknown } | undefined,
  url: string,
): unknown {
  if (error instanceof WireError) return error;
  if (stopped !== undefined) return stopped.reason;
  const code = causeCode(error);
  if (code !== undefined && (NEVER_SENT.has(code) || /CERT|TLS|SSL|SELF_SIGNED/.test(code))) {
    return new WireError("unreachable", `No connection to ${printableUrl(url)} (${code}).`, {
      retryable: true,
    });
  }
  return new WireError(
    "interrupted",
    `The connection to ${printableUrl(url)} broke (${code ?? "no reason given"}).`,
  );
}

/** The system's or undici's code, from the error, its causes, or the attempts that it sums up. Only letters, never a text. */
function causeCode(error: unknown): string | undefined {
  for (
    let current = error, depth = 0;
    current instanceof Error && depth < 5;
    current = current.cause, depth++
  ) {
    const own = "code" in current ? current.code : undefined;
    if (typeof own === "string" && /^[A-Z][A-Z0-9_]{2,60}$/.test(own)) return own;
    if (current instanceof AggregateError && current.errors.length > 0) return causeCode(current.errors[0]);
  }
  return undefined;
}
