import { inspect } from "node:util";

/**
 * A thrown value as text for a log, with its stack. What a remote or a program put into a message can neither act on a terminal
 * (control characters are replaced) nor pass for a line of its own (all lines but the first are indented).
 */
export function logText(error: unknown): string {
  return inspect(error)
    .replace(/(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, "\ufffd")
    .replaceAll("\n", "\n  ");
}
