import type { SubagentEvent } from "../../delegation/events.js";
import { type AguiEvent, custom } from "./event.js";

/** Subagent events as `CUSTOM` events: valid in every version of AG-UI, and out of the message list. */
export function encodeCustom(event: SubagentEvent): AguiEvent {
  const { type, ...value } = event;
  if (!("audit" in value)) return custom(type, value);
  // Who asked, and what was sent, is for the audit.
  const { audit: _audit, ...shown } = value;
  return custom(type, shown);
}
