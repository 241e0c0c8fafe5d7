import { WireError } from "../../wire/errors.js";

/** Tries of a send that was certainly not received. */
const SEND_TRIES = 3;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 3_000;

/**
 * When to send again what was certainly not received, in milliseconds; `undefined` for never.
 * @param attempt tries so far
 * @param random from 0 to 1
 */
export function resendAfter(error: unknown, attempt: number, random: number): number | undefined {
  if (!(error instanceof WireError) || attempt >= SEND_TRIES) return undefined;
  const own = Math.round(FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.75 + random / 2));
  if (error.code === "unreachable") return own;
  // A gateway's 502 or 504 leaves open whether the agent has it.
  if (error.code !== "overloaded" || (error.status !== 429 && error.status !== 503)) return undefined;
  const wait = error.retryAfterMs ?? own;
  return wait <= LONGEST_WAIT_MS ? wait : undefined;
}
