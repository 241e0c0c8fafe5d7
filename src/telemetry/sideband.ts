import type { TraceExposure } from "../wire/trace.js";
import { SidebandEncoder } from "./sideband-encoder.js";
import type { SidebandSink } from "./sideband-event.js";
import type { ObservedEntry, Telemetry, TelemetryContext } from "./telemetry.js";

/** Options of {@link sideband}. */
export interface SidebandOptions {
  /** What is sent. Everything by default: the collector is the operator's own. */
  readonly show?: Partial<TraceExposure>;
}

/**
 * Sends what agents do beside their answers to a collector, as A2A trace artifacts (`urn:x-a2a:trace:v1`): tool calls, thoughts,
 * changed files, usage and delegations. Answers and prompts are not sent, but a tool's arguments and a delegation's task are.
 */
export function sideband(sink: SidebandSink, { show = {} }: SidebandOptions = {}): Telemetry {
  return new Sideband(sink, { reasoning: true, tools: "full", files: true, usage: true, ...show });
}

class Sideband implements Telemetry {
  #encoder: SidebandEncoder | undefined;

  constructor(
    private readonly sink: SidebandSink,
    private readonly exposure: TraceExposure,
  ) {}

  open({ describeThread }: TelemetryContext): void {
    this.#encoder = new SidebandEncoder(this.exposure, describeThread);
  }

  observe(entries: readonly ObservedEntry[]): void {
    for (const entry of entries)
      for (const event of this.#encoder?.encode(entry) ?? []) this.sink.send(event);
  }

  close(): Promise<void> {
    return this.sink.close();
  }
}
