import type { ApprovalDecision } from "../core/approval.js";
import { systemClock } from "../core/clock.js";
import type { Driver, DriverOutcome, DriverRequest, DriverSink } from "../core/driver.js";
import type { DriverEvent } from "../core/run-event.js";

/** A question that a driver asked. */
export interface AskedQuestion {
  readonly request: Parameters<DriverSink["approve"]>[0];
  readonly withdrawn: AbortSignal;
}

/** A run of a driver on its own, without an agent around it. */
export interface DriverRun {
  readonly events: readonly DriverEvent[];
  readonly questions: readonly AskedQuestion[];
  readonly raw: { stdout: string; stderr: string };
  readonly outcome: Promise<DriverOutcome>;
  /** Resolves with the first event that `matches`, also one that was emitted before. */
  seen(matches: (event: DriverEvent) => boolean): Promise<DriverEvent>;
  /** All text of the run's own messages. */
  text(): string;
  cancel(reason?: string): void;
}

/** Options of {@link startDriver}: a request without what has an obvious value, and who decides. */
export type DriverRunOptions = Partial<Omit<DriverRequest, "signal">> & {
  /** Default: everything is approved. A promise that never settles leaves the question open. */
  readonly approve?: (question: AskedQuestion) => ApprovalDecision | Promise<ApprovalDecision>;
};

/** Starts `driver` and records what it emits. */
export function startDriver(driver: Driver, options: DriverRunOptions = {}): DriverRun {
  const { approve = () => ({ decision: "approve" }), ...rest } = options;
  const events: DriverEvent[] = [];
  const questions: AskedQuestion[] = [];
  const raw = { stdout: "", stderr: "" };
  const watchers = new Set<(event: DriverEvent) => void>();
  const abort = new AbortController();
  const outcome = driver.start(
    {
      runId: "run-test",
      prompt: "Hello",
      workspace: process.cwd(),
      env: {},
      mcpServers: [],
      persist: false,
      clock: systemClock,
      ...rest,
      signal: abort.signal,
    },
    {
      emit: (event) => {
        events.push(event);
        for (const watcher of watchers) watcher(event);
      },
      approve: async (request, withdrawn) => {
        const question = { request, withdrawn };
        questions.push(question);
        return approve(question);
      },
      raw: (stream, text) => {
        raw[stream] += text;
      },
    },
  );
  outcome.catch(() => {});
  return {
    events,
    questions,
    raw,
    outcome,
    seen: (matches) =>
      new Promise((resolve, reject) => {
        const early = events.find(matches);
        if (early) return resolve(early);
        watchers.add((event) => {
          if (matches(event)) resolve(event);
        });
        const over = () =>
          reject(new Error(`The run ended without the event. It emitted: ${JSON.stringify(events)}`));
        outcome.then(over, over);
      }),
    text: () =>
      events
        .map((event) =>
          event.type === "text.delta" && event.parentToolCallId === undefined ? event.delta : "",
        )
        .join(""),
    cancel: (reason = "user") => abort.abort(reason),
  };
}
