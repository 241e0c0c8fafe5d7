import type { SubagentState } from "../../../src/client/index.js";
import type { IconName } from "./icon.js";

/** The drawing of each state; a colour never says it alone. */
export const STATE_ICONS: Readonly<Record<SubagentState, IconName>> = {
  starting: "dots",
  working: "ring",
  needs_you: "alert",
  stopping: "square",
  done: "check",
  failed: "cross",
  stopped: "square",
};
