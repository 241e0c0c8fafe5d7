import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { openTelemetry } from "../../src/telemetry/open-telemetry.js";

/** One number, or the sum and count of a histogram, with its attributes. */
export interface Point {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: unknown;
}

/** OpenTelemetry's own SDK, with exporters in memory. */
export class OtelBench implements AsyncDisposable {
  readonly #spans = new InMemorySpanExporter();
  readonly #metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  readonly tracerProvider: BasicTracerProvider;
  readonly meterProvider: MeterProvider;

  constructor(sampler?: Sampler) {
    this.tracerProvider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(this.#spans)],
      ...(sampler === undefined ? {} : { sampler }),
    });
    const reader = new PeriodicExportingMetricReader({
      exporter: this.#metrics,
      exportIntervalMillis: 3_600_000,
    });
    this.meterProvider = new MeterProvider({ readers: [reader] });
  }

  telemetry() {
    const { tracerProvider, meterProvider } = this;
    return openTelemetry({ tracerProvider, meterProvider });
  }

  /** Spans that have ended, in the order of their ends. */
  get spans(): ReadableSpan[] {
    return this.#spans.getFinishedSpans();
  }

  /** The only span of that name. */
  span(name: string): ReadableSpan {
    const found = this.spans.filter((span) => span.name === name);
    const [span] = found;
    if (span === undefined || found.length > 1)
      throw new Error(
        `${found.length} spans "${name}" among ${this.spans.map((one) => one.name).join(", ")}`,
      );
    return span;
  }

  /** Name of each span, below that of its parent. */
  tree(): Record<string, string | undefined> {
    const names = new Map(this.spans.map((span) => [span.spanContext().spanId, span.name]));
    return Object.fromEntries(
      this.spans.map((span) => [span.name, names.get(span.parentSpanContext?.spanId ?? "")]),
    );
  }

  /** All points of a metric at this moment. */
  async points(metric: string): Promise<Point[]> {
    this.#metrics.reset();
    await this.meterProvider.forceFlush();
    return this.#metrics
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
      .filter(({ descriptor }) => descriptor.name === metric)
      .flatMap(({ dataPoints }) => dataPoints.map(({ attributes, value }) => ({ attributes, value })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tracerProvider.shutdown();
    await this.meterProvider.shutdown();
  }
}
