import { membersOf, nameOf } from "./members.js";
import type { RunStatus, SubagentState, SubagentView } from "./view.js";

/** The words for the states of a delegation, the same in the page and in the terminal. */
const SUBAGENT_WORDS: Readonly<Record<SubagentState, string>> = {
  starting: "Starting",
  working: "Working",
  needs_you: "Needs you",
  stopping: "Stopping",
  done: "Done",
  failed: "Failed",
  stopped: "Stopped",
};

const RUN_WORDS: Readonly<Record<RunStatus, string>> = {
  running: "Working",
  finished: "Done",
  failed: "Failed",
  cancelled: "Stopped",
};

export function subagentWord(state: SubagentState): string {
  return SUBAGENT_WORDS[state];
}

export function runWord(status: RunStatus): string {
  return RUN_WORDS[status];
}

const BYTE_UNITS = ["kB", "MB", "GB", "TB"];

/** `612 B`, `3.8 kB`, `38 kB`, `1.2 MB`: powers of 1000, two digits at least from kB on. */
export function formatBytes(bytes: number): string {
  let value = Math.max(0, Math.round(bytes));
  if (value < 1000) return `${value} B`;
  let unit = -1;
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value < 9.95 ? value.toFixed(1) : value.toFixed(0)} ${BYTE_UNITS[unit]}`;
}

/** `0:07`, `12:40`, `1:02:03`. Negative time, from clocks that differ, is shown as none. */
export function formatElapsed(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (value: number) => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** What a person saw of a delegation and what the parent's model got: `you: 38 kB, 3 artifacts · the model: 612 B`. */
export function formatBoundary(subagent: SubagentView): string | undefined {
  const { sizes, artifacts } = subagent;
  if (!sizes) return undefined;
  const count = artifacts.length;
  const made = count === 0 ? "" : `, ${count} ${count === 1 ? "artifact" : "artifacts"}`;
  return `you: ${formatBytes(sizes.seen)}${made} · the model: ${formatBytes(sizes.model)}`;
}

/** The closing words of a delegation: the summary that the model got, else why it ended, else the last text. */
export function summaryOf(subagent: SubagentView): string {
  if (subagent.error) return subagent.error.message;
  const summary = nameOf(membersOf(subagent.result), "summary");
  if (summary !== undefined) return summary;
  if (subagent.state === "stopped") return stopReason(subagent);
  return latestText(subagent);
}

/** The text that a delegation is writing, or wrote last. */
export function latestText(subagent: SubagentView): string {
  const last = subagent.items.findLast((item) => item.kind === "text" && item.text !== "");
  return last?.kind === "text" ? last.text : "";
}

function stopReason({ reason, confirmed }: SubagentView): string {
  const words: Readonly<Record<string, string>> = {
    user: "You stopped it.",
    run_end: "The run ended.",
    deadline: "Its time was up.",
  };
  const why = reason ? (words[reason] ?? `Stopped: ${reason}`) : "Stopped.";
  return confirmed === false ? `${why} The remote agent has not confirmed it.` : why;
}

/** The most telling argument of a tool call, on one line; empty when there is none to read yet. */
export function argumentHint(toolArguments: string, limit = 80): string {
  let value: unknown;
  try {
    value = JSON.parse(toolArguments);
  } catch {
    return "";
  }
  const members = membersOf(value);
  const preferred = [
    "objective",
    "description",
    "command",
    "file_path",
    "path",
    "pattern",
    "query",
    "url",
    "prompt",
  ];
  const hint =
    preferred.map((name) => nameOf(members, name)).find((text) => text !== undefined) ??
    Object.values(members).find((member): member is string => typeof member === "string");
  const line = (hint ?? "").replace(/\s+/g, " ").trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}
