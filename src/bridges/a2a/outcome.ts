import type { ErrorInfo } from "../../core/run-event.js";
import { startOf } from "../../core/text.js";

/** Characters of the line that tells how a task ended. */
const MAX_LINE = 280;

/**
 * What callers are told of a failure: never the program's own words, which may name paths, versions or accounts of the host. Its
 * people find those in the journal.
 */
const WORDS: Readonly<Record<string, string>> = {
  program_missing: "The agent's program is not installed on its host.",
  program_too_old: "The agent's program is too old for its host.",
  program_died: "The agent's program ended unexpectedly.",
  not_authenticated: "The agent is not signed in to its model.",
  protocol_error: "The agent's program was not understood.",
  model_error: "The agent's model failed.",
  limit_reached: "The agent reached a limit before it was done.",
  host_stopped: "The agent's host ended before this task did.",
  resume_failed: "The agent could not go on with this conversation.",
};

/** The failure of a run for a caller's eyes. */
export function publicError({ code, retryable }: ErrorInfo): ErrorInfo {
  const message = WORDS[code];
  return message === undefined
    ? { code: "internal", message: "The agent failed.", retryable }
    : { code, message, retryable };
}

/** One line of a text: its first that holds words, shortened. */
export function outcomeLine(text: string, otherwise: string): string {
  const line =
    text
      .split("\n")
      .find((candidate) => candidate.trim() !== "")
      ?.trim() ?? otherwise;
  return line.length > MAX_LINE ? `${startOf(line, MAX_LINE - 1)}…` : line;
}
