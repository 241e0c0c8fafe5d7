import { startOf, wellFormed } from "../../core/text.js";

/** One message of a conversation, as far as a program is told of it. */
export interface HistoryMessage {
  readonly role: string;
  readonly text: string;
}

/** Characters of one message. */
const MAX_MESSAGE = 4_000;
/** Characters of all messages; the oldest are left out first. */
const MAX_HISTORY = 32_000;

const SPEAKERS: Readonly<Record<string, string>> = { user: "User", assistant: "Assistant" };

/**
 * What was said before, for a program that knows nothing of it: the words of both sides, the newest of them, without tools and
 * thoughts.
 * @returns `undefined` when nothing was said.
 */
export function compactHistory(messages: readonly HistoryMessage[]): string | undefined {
  const said = messages.flatMap(({ role, text }) => {
    const speaker = Object.hasOwn(SPEAKERS, role) ? SPEAKERS[role] : undefined;
    return speaker === undefined || text.trim() === "" ? [] : [`${speaker}: ${shortened(text.trim())}`];
  });
  const kept: string[] = [];
  let size = 0;
  for (const line of said.toReversed()) {
    size += line.length;
    if (size > MAX_HISTORY) break;
    kept.unshift(line);
  }
  if (kept.length === 0) return undefined;
  const left = said.length - kept.length;
  const note = left === 0 ? "" : ` (${left} earlier ${left === 1 ? "message is" : "messages are"} left out)`;
  return [`What was said in this conversation so far${note}:`, ...kept, "The user says now:"].join("\n\n");
}

function shortened(text: string): string {
  return text.length > MAX_MESSAGE ? `${wellFormed(startOf(text, MAX_MESSAGE))}…` : text;
}
