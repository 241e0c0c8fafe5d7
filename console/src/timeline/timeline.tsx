import { type KeyboardEvent, memo, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import {
  delegationsOf,
  formatElapsed,
  type RunView,
  type SubagentState,
  subagentWord,
} from "../../../src/client/index.js";
import { useNow } from "../parts/elapsed.js";
import { Icon } from "../parts/icon.js";
import { STATE_ICONS } from "../parts/state-icon.js";
import { ownersOfCard } from "../search/places.js";
import { useHighlighted, usePageFocus } from "../thread/page-focus.js";
import { useRememberedSwitch } from "../thread/remembered.js";
import type { ThreadStore } from "../thread/thread-store.js";
import { layoutTimeline, type TimelineLane, type TimelineLayout } from "./timeline-layout.js";

/** Lanes over time for one run of the thread, under the conversation. Nothing as long as nothing was delegated. */
export function Timeline({ store }: { store: ThreadStore }) {
  const focus = usePageFocus();
  const [chosen, setChosen] = useState<string>();
  // Words that stream in change no lane; what is compared here is only what is drawn.
  const shape = useSyncExternalStore(store.subscribe, () => shapeOf(store));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the view changes in place, its shape tells when
  const runs = useMemo(() => store.view.runs.filter((run) => delegationsOf(run).length > 0), [shape, store]);
  const highlighted = useSyncExternalStore(focus.subscribe, () => focus.highlighted);
  useEffect(() => {
    const its = runs.find((run) =>
      delegationsOf(run).some(({ delegationId }) => delegationId === highlighted),
    );
    if (its) setChosen(its.runId);
  }, [highlighted, runs]);
  // A new run takes the place of what was chosen.
  const latest = runs.at(-1)?.runId;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new run does
  useEffect(() => setChosen(undefined), [latest]);
  const index = chosen === undefined ? runs.length - 1 : runs.findIndex(({ runId }) => runId === chosen);
  const run = runs[index] ?? runs.at(-1);
  if (!run) return null;
  return <Strip run={run} runs={runs} index={index} onChoose={setChosen} />;
}

interface StripProps {
  readonly run: RunView;
  readonly runs: readonly RunView[];
  readonly index: number;
  readonly onChoose: (runId: string) => void;
}

function Strip({ run, runs, index, onChoose }: StripProps) {
  const [open, setOpen] = useRememberedSwitch("timeline", true);
  const running = run.status === "running" || delegationsOf(run).some(({ endedAt }) => endedAt === undefined);
  const now = useNow(running && open);
  const layout = layoutTimeline(run, now);
  const step = (by: number) => {
    const next = runs[index + by];
    if (next) onChoose(next.runId);
  };
  return (
    <section className="timeline" aria-label="Timeline">
      <div className="timeline-bar">
        <button
          type="button"
          className="timeline-toggle"
          aria-expanded={open}
          aria-controls="timeline-lanes"
          onClick={() => setOpen(!open)}
        >
          <Icon name="chevron" className="turns" />
          <span>Timeline</span>
          <span className="muted">{tally(layout.delegations)}</span>
        </button>
        {runs.length > 1 && (
          <span className="timeline-runs">
            <button
              type="button"
              className="button quiet small"
              aria-label="Earlier run"
              disabled={index <= 0}
              onClick={() => step(-1)}
            >
              <Icon name="chevron" className="backwards" />
            </button>
            <span className="muted">{`Run ${index + 1} of ${runs.length}`}</span>
            <button
              type="button"
              className="button quiet small"
              aria-label="Later run"
              disabled={index >= runs.length - 1}
              onClick={() => step(1)}
            >
              <Icon name="chevron" />
            </button>
          </span>
        )}
      </div>
      <div id="timeline-lanes" hidden={!open}>
        {open && <Lanes run={run} layout={layout} running={running} />}
      </div>
    </section>
  );
}

interface LanesProps {
  readonly run: RunView;
  readonly layout: TimelineLayout;
  readonly running: boolean;
}

function Lanes({ run, layout, running }: LanesProps) {
  const list = useRef<HTMLOListElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by === 0) return;
    const lanes = [...(list.current?.querySelectorAll<Element>("button") ?? [])];
    const at = document.activeElement ? lanes.indexOf(document.activeElement) : -1;
    const next = lanes[at + by];
    if (!(next instanceof HTMLElement)) return;
    event.preventDefault();
    next.focus();
  };
  return (
    <div className={`timeline-lanes ${running ? "running" : ""}`}>
      <ol ref={list} onKeyDown={onKeyDown}>
        <RunLane lane={layout.run} />
        {layout.delegations.map((lane) => (
          <DelegationLane key={lane.id} lane={lane} run={run} />
        ))}
      </ol>
      <p className="timeline-axis" aria-hidden="true">
        {layout.ticks.map(({ at, milliseconds }) => (
          <span key={milliseconds} style={{ left: `${at * 100}%` }}>
            {formatElapsed(milliseconds)}
          </span>
        ))}
      </p>
    </div>
  );
}

function RunLane({ lane }: { lane: TimelineLane }) {
  return (
    <li className="lane run-lane">
      <span className="lane-label">
        <Icon name={STATE_ICONS[lane.state]} />
        <span className="lane-name">{lane.label}</span>
        <span className="visually-hidden">{`, ${subagentWord(lane.state)}`}</span>
      </span>
      <Track lane={lane} />
    </li>
  );
}

function DelegationLane({ lane, run }: { lane: TimelineLane; run: RunView }) {
  const focus = usePageFocus();
  const highlighted = useHighlighted(lane.id);
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (highlighted) item.current?.scrollIntoView({ block: "nearest" });
  }, [highlighted]);
  return (
    <li className={`lane ${lane.state} ${highlighted ? "highlighted" : ""}`} ref={item}>
      <button
        type="button"
        data-lane={lane.id}
        title={`${lane.label}: ${subagentWord(lane.state)}. Go to its card.`}
        onClick={() => focus.goTo({ owners: new Set(ownersOfCard(run, lane.id)), place: lane.id })}
        onFocus={() => focus.highlight(lane.id)}
        onPointerEnter={() => focus.highlight(lane.id)}
        onPointerLeave={() => focus.highlight(undefined)}
      >
        <span className="lane-label">
          <Icon name={STATE_ICONS[lane.state]} />
          <span className="lane-name">{lane.label}</span>
          <span className="visually-hidden">{`: ${describe(lane)}`}</span>
        </span>
        <Track lane={lane} />
      </button>
    </li>
  );
}

const MARK_ICONS = { input: "alert", artifact: "file" } as const;
/** More would hide each other and the bar. */
const MOST_MARKS = 40;

const Track = memo(
  function Track({ lane }: { lane: TimelineLane }) {
    return (
      <span className="track" aria-hidden="true">
        {lane.bars.map((bar, index) => (
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: bars are only ever added at the end
            key={index}
            className={`bar ${bar.state}`}
            style={{ left: `${bar.at * 100}%`, width: `${bar.width * 100}%` }}
          />
        ))}
        {lane.marks.slice(-MOST_MARKS).map((mark, index) => (
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: marks are only ever added at the end
            key={index}
            className={`mark ${mark.kind}`}
            title={mark.label}
            style={{ left: `${mark.at * 100}%` }}
          >
            <Icon name={MARK_ICONS[mark.kind]} />
          </span>
        ))}
      </span>
    );
  },
  (before, after) => JSON.stringify(before.lane) === JSON.stringify(after.lane),
);

function describe(lane: TimelineLane): string {
  const count = (kind: "input" | "artifact") => lane.marks.filter((mark) => mark.kind === kind).length;
  const [asked, made] = [count("input"), count("artifact")];
  return [
    subagentWord(lane.state),
    ...(lane.endedAt === undefined ? [] : [`after ${formatElapsed(lane.endedAt - lane.startedAt)}`]),
    ...(asked > 0 ? [`asked ${asked === 1 ? "once" : `${asked} times`}`] : []),
    ...(made > 0 ? [`${made} ${made === 1 ? "file" : "files"}`] : []),
  ].join(", ");
}

const TALLY: readonly SubagentState[] = [
  "needs_you",
  "starting",
  "working",
  "stopping",
  "failed",
  "stopped",
  "done",
];

/** `1 needs you, 2 working, 3 done`. */
function tally(lanes: readonly TimelineLane[]): string {
  return TALLY.map((state) => [state, lanes.filter((lane) => lane.state === state).length] as const)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${subagentWord(state).toLowerCase()}`)
    .join(", ");
}

/** What was drawn of a run, and at which version of it. */
const shapes = new WeakMap<RunView, { readonly version: number; readonly shape: string }>();

function shapeOf(store: ThreadStore): string {
  return store.view.runs.map(runShape).join("\n");
}

function runShape(run: RunView): string {
  const known = shapes.get(run);
  if (known?.version === run.version) return known.shape;
  const lanes = delegationsOf(run).map(
    ({ delegationId, agentName, state, phases, marks, endedAt }) =>
      `${delegationId} ${agentName} ${state} ${phases.length} ${marks.length} ${endedAt}`,
  );
  const shape = `${run.runId} ${run.status} ${lanes.join(";")}`;
  shapes.set(run, { version: run.version, shape });
  return shape;
}
