/** What goes wrong in one schedule. */
export type Fault =
  | "none"
  | "kill the host that runs it"
  | "kill the host that is read"
  | "freeze the host that runs it beyond its lease"
  | "restart Redis"
  | "cut the remote's stream"
  | "cancel the run at the other host"
  | "cancel the delegation at the other host";

const FAULTS: readonly Fault[] = [
  "none",
  "kill the host that runs it",
  "kill the host that runs it",
  "kill the host that is read",
  "freeze the host that runs it beyond its lease",
  "restart Redis",
  "cut the remote's stream",
  "cancel the run at the other host",
  "cancel the delegation at the other host",
];

/** One run and what happens to it, all of it decided by its seed. */
export interface Schedule {
  readonly seed: number;
  /** What the remote does, for the scripted agent. */
  readonly prompt: string;
  /** All that it says when nothing stops it. */
  readonly text: string;
  readonly fault: Fault;
  /** After how many frames the fault happens. */
  readonly after: number;
  readonly onRunEnd: "cancel" | "detach";
}

/** After how many events the remote's stream is cut. */
export function cutAfter({ after }: Schedule): number {
  return after % 12;
}

/** The schedule of a seed. */
export function scheduleOf(seed: number): Schedule {
  const random = generator(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const lines: string[] = [];
  let text = "";
  const say = (words: string) => {
    lines.push(`#say ${words}`);
    text += words;
  };
  for (let part = 2 + below(6); part > 0; part--) {
    say(`w${below(1_000)}.`);
    if (below(3) === 0) lines.push(`#artifact f${part}.md ${1 + below(3_000)}`);
    if (below(3) === 0) lines.push(`#delay ${below(60)}`);
    if (below(3) === 0) lines.push(`#status step ${part}`);
  }
  say("end.");
  return {
    seed,
    prompt: lines.join("\n"),
    text,
    fault: FAULTS[below(FAULTS.length)] ?? "none",
    after: 5 + below(30),
    onRunEnd: below(2) === 0 ? "cancel" : "detach",
  };
}

/** Numbers below 1 that a seed decides (mulberry32). */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
