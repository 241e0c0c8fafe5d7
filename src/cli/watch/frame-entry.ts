import { z } from "zod";
import type { ThreadEntry, ThreadEvent } from "../../bridges/agui/event.js";
import type { ThreadFrame } from "../../client/event-stream.js";

const text = z.string().catch("");
const message = z.object({ messageId: text, delta: text });
const subagent = z.looseObject({
  delegationId: text,
  agentKey: text,
  messageId: text,
  delta: text,
  status: text,
  prompt: text,
  objective: text,
  message: z.string().optional().catch(undefined),
  parentToolCallId: z.string().optional().catch(undefined),
  artifact: z.object({ name: text, size: z.number().catch(0) }).catch({ name: "", size: 0 }),
});
const approval = z.looseObject({ approvalId: text, title: text });

/** The journal entry that a frame was made from, as far as printers of lines look at it; `undefined` for what they leave out. */
export function entryOf({ cursor = "0", event }: ThreadFrame, runId: string): ThreadEntry | undefined {
  const made = eventOf(event);
  const time = typeof event.timestamp === "number" ? event.timestamp : 0;
  // Printers read what was checked above, and nothing else.
  return made && ({ thread: "", runId, cursor, time, event: made as unknown as ThreadEvent } as ThreadEntry);
}

function eventOf(event: ThreadFrame["event"]): { readonly type: string } | undefined {
  switch (event.type) {
    case "TEXT_MESSAGE_CONTENT":
      return { type: "text.delta", ...message.parse(event) };
    case "TEXT_MESSAGE_END":
      return { type: "text.end", ...message.parse(event) };
    case "TOOL_CALL_END":
      return { type: "tool.end", toolCallId: text.parse(event.toolCallId) } as { type: string };
    case "CUSTOM":
      return customOf(text.parse(event.name), event.value);
    default:
      return undefined;
  }
}

function customOf(name: string, value: unknown): { readonly type: string } | undefined {
  const members: unknown = typeof value === "object" && value !== null ? value : {};
  if (name.startsWith("subagent.")) return { ...subagent.parse(members), type: name };
  if (name === "approval.requested")
    return { type: name, approval: approval.parse(members) } as { type: string };
  if (name === "notice")
    return { type: name, message: text.parse(Object(members).message) } as { type: string };
  return undefined;
}
