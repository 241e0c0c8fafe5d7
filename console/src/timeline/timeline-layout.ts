import {
  delegationsOf,
  isSubagentOver,
  type MarkView,
  type RunStatus,
  type RunView,
  type SubagentState,
  type SubagentView,
} from "../../../src/client/index.js";

/** A run drawn over time. All places are shares of its length, from 0 to 1. */
export interface TimelineLayout {
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly run: TimelineLane;
  /** One for each delegation, in the order of their beginnings. */
  readonly delegations: readonly TimelineLane[];
  readonly ticks: readonly { readonly at: number; readonly milliseconds: number }[];
}

/** One row. */
export interface TimelineLane {
  /** Of the run or of the delegation. */
  readonly id: string;
  readonly label: string;
  readonly state: SubagentState;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly bars: readonly TimelineBar[];
  readonly marks: readonly { readonly at: number; readonly kind: MarkView["kind"]; readonly label: string }[];
}

/** A stretch of one state. */
export interface TimelineBar {
  readonly state: SubagentState;
  readonly at: number;
  readonly width: number;
}

/** A run that has just begun has room for this many milliseconds, so that its first bars do not jump. */
const SHORTEST = 5_000;

const RUN_STATES: Readonly<Record<RunStatus, SubagentState>> = {
  running: "working",
  finished: "done",
  failed: "failed",
  cancelled: "stopped",
};

/** @param now milliseconds since the epoch; how far what is not over has come. */
export function layoutTimeline(run: RunView, now: number): TimelineLayout {
  const delegations = delegationsOf(run).sort((left, right) => left.startedAt - right.startedAt);
  const open = run.endedAt === undefined || delegations.some(({ endedAt }) => endedAt === undefined);
  const ends = [run.endedAt ?? 0, ...delegations.map(({ endedAt }) => endedAt ?? 0)];
  const from = Math.min(run.startedAt, ...delegations.map(({ startedAt }) => startedAt));
  // The host's clock may be ahead of this page's.
  const seen = delegations.flatMap(({ phases, marks }) => [
    phases.at(-1)?.from ?? 0,
    marks.at(-1)?.time ?? 0,
  ]);
  const last = Math.max(from, ...ends, ...seen, open ? now : 0);
  const to = Math.max(last, from + (open ? SHORTEST : 1));
  const place = (time: number) => clamp((time - from) / (to - from));
  return {
    from,
    to,
    run: runLane(run, place, last),
    delegations: delegations.map((subagent) => delegationLane(subagent, place, last)),
    ticks: ticksOf(to - from),
  };
}

type Place = (time: number) => number;

function runLane(run: RunView, place: Place, last: number): TimelineLane {
  const state = RUN_STATES[run.status];
  const { startedAt, endedAt } = run;
  const at = place(startedAt);
  return {
    id: run.runId,
    label: "Run",
    state,
    startedAt,
    ...(endedAt !== undefined && { endedAt }),
    bars: [{ state, at, width: place(endedAt ?? last) - at }],
    marks: [],
  };
}

function delegationLane(subagent: SubagentView, place: Place, last: number): TimelineLane {
  const { delegationId, agentName, state, phases, marks, startedAt, endedAt } = subagent;
  const bars: TimelineBar[] = [];
  for (const [index, phase] of phases.entries()) {
    if (isSubagentOver(phase.state)) continue;
    const at = place(phase.from);
    const width = Math.max(0, place(phases[index + 1]?.from ?? endedAt ?? last) - at);
    const shown = drawnAs(phase.state, state);
    const before = bars.at(-1);
    if (before?.state === shown) bars[bars.length - 1] = { ...before, width: at + width - before.at };
    else bars.push({ state: shown, at, width });
  }
  return {
    id: delegationId,
    label: agentName || delegationId,
    state,
    startedAt,
    ...(endedAt !== undefined && { endedAt }),
    bars,
    marks: marks.map(({ kind, time, label }) => ({ kind, label, at: place(time) })),
  };
}

/** Work that is over is drawn as what came of it; a wait stays one. */
function drawnAs(phase: SubagentState, now: SubagentState): SubagentState {
  return isSubagentOver(now) && phase === "working" ? now : phase;
}

const TICK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400];
const MOST_TICKS = 6;

/** Round times, at most six, none at the very end where its words would be cut. */
function ticksOf(length: number): TimelineLayout["ticks"] {
  const seconds = length / 1_000;
  const step = TICK_STEPS.find((each) => seconds / each <= MOST_TICKS) ?? Math.ceil(seconds / MOST_TICKS);
  const ticks = [];
  for (let second = 0; second <= seconds * 0.95 && ticks.length <= MOST_TICKS; second += step)
    ticks.push({ at: clamp(second / seconds), milliseconds: second * 1_000 });
  return ticks;
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}
