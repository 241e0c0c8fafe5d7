import type { RunEvent } from "../../core/run-event.js";
import type { SubagentEvent } from "../../delegation/events.js";
import { formatSse } from "../../wire/sse-writer.js";
import { encodeActivity } from "./activity-encoder.js";
import { encodeCustom } from "./custom-encoder.js";
import { type AguiEvent, custom, type Encode, type ThreadEntry } from "./event.js";
import { encodeNative } from "./native-encoder.js";
import { encodeParent, type ParentEncoding } from "./parent-encoder.js";
import { encodeTool } from "./tool-encoder.js";

/** How subagents are told to a reader. */
export type SubagentEncoding = "custom" | "native" | "activity" | "tool";

const SUBAGENTS: Record<SubagentEncoding, (event: SubagentEvent) => AguiEvent> = {
  custom: encodeCustom,
  native: encodeNative,
  activity: encodeActivity,
  tool: encodeTool,
};

/** The names of all encodings, for those who may choose. */
export const SUBAGENT_ENCODINGS = Object.keys(SUBAGENTS) as readonly SubagentEncoding[];

/** What a reader said of itself. */
export interface ReaderWishes {
  readonly threadId: string;
  /** `?subagents=` of the request. */
  readonly requested?: SubagentEncoding;
  /** The host's own choice. */
  readonly preferred?: SubagentEncoding;
  /** `protocolVersion` of the AG-UI input; clients before 1.0 send none. */
  readonly protocolVersion?: string;
}

/** Chooses a reader's encoding: what the request asks for, else what the host prefers, else what the client's version knows. */
export function chooseEncoder({ threadId, requested, preferred, protocolVersion }: ReaderWishes): Encode {
  const speaksOne = protocolVersion !== undefined && Number.parseFloat(protocolVersion) >= 1;
  return createEncoder(requested ?? preferred ?? (speaksOne ? "native" : "custom"), {
    threadId,
    cancelledOutcome: speaksOne,
  });
}

/** An encoder for a known kind of reader. */
export function createEncoder(subagents: SubagentEncoding, parent: ParentEncoding): Encode {
  const encodeSubagent = SUBAGENTS[subagents];
  return (entry) => {
    const { event, time: timestamp } = entry;
    const encoded =
      event.type === "stream.gap"
        ? custom("stream.gap", { after: event.after, resumesAt: event.resumesAt })
        : isSubagentEvent(event)
          ? encodeSubagent(event)
          : encodeParent(entry, event, parent);
    return encoded === undefined ? undefined : { ...encoded, timestamp };
  };
}

/** The SSE frame of an entry, or nothing. A gap has no id of its own: it is no entry, and must not move a reader's cursor. */
export function encodeFrame(entry: ThreadEntry, encode: Encode): string | undefined {
  const event = encode(entry);
  if (event === undefined) return undefined;
  const data = JSON.stringify(event);
  return entry.event.type === "stream.gap" ? formatSse({ data }) : formatSse({ id: entry.cursor, data });
}

function isSubagentEvent(event: RunEvent | SubagentEvent): event is SubagentEvent {
  return event.type.startsWith("subagent.");
}
