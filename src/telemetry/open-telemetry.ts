import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import { type Clock, systemClock } from "../core/clock.js";
import { TroupeError } from "../core/errors.js";
import type { StartingDelegation } from "../delegation/trace-context.js";
import { VERSION } from "../version.js";
import { Metrics } from "./metrics.js";
import { RunTrace } from "./run-trace.js";
import type { OpenTelemetryApi, TraceTools } from "./span-end.js";
import type {
  ObservedEntry,
  ObservedRun,
  ObservedThread,
  StartingRun,
  Telemetry,
  TelemetryContext,
} from "./telemetry.js";

/** Options of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /** The one that is registered globally by default. */
  readonly tracerProvider?: TracerProvider;
  /** The one that is registered globally by default. */
  readonly meterProvider?: MeterProvider;
}

/**
 * Spans and metrics of runs, tool calls and delegations, by whatever OpenTelemetry SDK the process has registered when the host
 * starts. Without one it does nothing. Needs the package `@opentelemetry/api`, which comes with every SDK.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  return new OpenTelemetry(options);
}

/**
 * Loads `@opentelemetry/api`, which is an optional peer dependency.
 * @param load imports the package.
 * @throws TroupeError `capability_unsupported` when it is not installed.
 */
export async function loadApi(
  load: () => Promise<OpenTelemetryApi> = () => import("@opentelemetry/api"),
): Promise<OpenTelemetryApi> {
  try {
    return await load();
  } catch (cause) {
    throw new TroupeError(
      "capability_unsupported",
      'OpenTelemetry needs the package @opentelemetry/api. Run "npm install @opentelemetry/api", and register an SDK.',
      { cause },
    );
  }
}

class OpenTelemetry implements Telemetry {
  /** Absent where there is no SDK. */
  #tools: TraceTools | undefined;
  #clock: Clock = systemClock;
  #describeThread: (thread: string) => ObservedThread = (threadId) => ({ threadId });
  readonly #runs = new Map<string, RunTrace>();

  constructor(private readonly options: OpenTelemetryOptions) {}

  async open({ clock, describeThread }: TelemetryContext): Promise<void> {
    const api = await loadApi();
    this.#clock = clock;
    this.#describeThread = describeThread;
    const { tracerProvider = api.trace.getTracerProvider(), meterProvider = api.metrics.getMeterProvider() } =
      this.options;
    const meter = meterProvider.getMeter("troupe", VERSION);
    if (isNoTracer(api, tracerProvider) && meter === api.createNoopMeter()) return;
    this.#tools = { api, tracer: tracerProvider.getTracer("troupe", VERSION), metrics: new Metrics(meter) };
  }

  runStarting(run: StartingRun): void {
    this.#start(run, this.#clock.now());
  }

  runDropped(run: ObservedRun): void {
    this.#runs.get(keyOf(run))?.abandon(this.#clock.now());
    this.#runs.delete(keyOf(run));
  }

  delegationStarting(run: ObservedRun, delegation: StartingDelegation): string | undefined {
    return this.#runs.get(keyOf(run))?.delegationStarting(delegation, this.#clock.now());
  }

  observe(entries: readonly ObservedEntry[]): void {
    const [first] = entries;
    if (this.#tools === undefined || first === undefined) return;
    this.#tools.metrics.lag(this.#clock.now() - first.time);
    for (const entry of entries) this.#take(entry);
  }

  /** What is open now was not ended by the host, which ends everything before it closes. */
  async close(): Promise<void> {
    for (const run of this.#runs.values()) run.abandon(this.#clock.now());
    this.#runs.clear();
  }

  #take(entry: ObservedEntry): void {
    const { thread, event, time } = entry;
    if (event.type === "stream.gap") {
      for (const [key, run] of this.#runs) {
        if (!run.seen || !key.startsWith(keyOf({ thread, runId: "" }))) continue;
        run.abandon(time);
        this.#runs.delete(key);
      }
      return;
    }
    // One that was cancelled before it began was not told of.
    if (event.type === "run.started") this.#start({ thread, runId: entry.runId, agent: event.agent }, time);
    const key = keyOf(entry);
    const run = this.#runs.get(key);
    run?.observe(entry);
    if (run?.over) this.#runs.delete(key);
  }

  #start(run: StartingRun, time: number): void {
    const key = keyOf(run);
    if (this.#tools === undefined || this.#runs.has(key)) return;
    this.#runs.set(key, new RunTrace(this.#tools, run, this.#describeThread(run.thread), time));
  }
}

/** Whether nothing is registered behind the API. */
function isNoTracer(api: OpenTelemetryApi, provider: TracerProvider): boolean {
  return provider instanceof api.ProxyTracerProvider
    ? provider.getDelegate() === new api.ProxyTracerProvider().getDelegate()
    : false;
}

function keyOf({ thread, runId }: ObservedRun): string {
  return `${thread}\u0000${runId}`;
}
