/**
 * What a host tells its operators: OpenTelemetry's spans and metrics, and the sideband.
 * @module
 */
export type { BatchOptions } from "./telemetry/batch-queue.js";
export { functionSink, type TakeBatch } from "./telemetry/function-sink.js";
export { type HttpSinkOptions, httpSink } from "./telemetry/http-sink.js";
export { type OpenTelemetryOptions, openTelemetry } from "./telemetry/open-telemetry.js";
export { type SidebandOptions, sideband } from "./telemetry/sideband.js";
export type { SidebandArtifact, SidebandEvent, SidebandSink } from "./telemetry/sideband-event.js";
export type {
  ObservedEntry,
  ObservedEvent,
  ObservedRun,
  ObservedThread,
  StartingRun,
  Telemetry,
  TelemetryContext,
} from "./telemetry/telemetry.js";
