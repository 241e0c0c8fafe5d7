import type { TelemetryConfig } from "../config/telemetry-schema.js";
import { defined } from "../core/defined.js";
import { httpSink } from "../telemetry/http-sink.js";
import { openTelemetry } from "../telemetry/open-telemetry.js";
import { sideband } from "../telemetry/sideband.js";
import type { Telemetry } from "../telemetry/telemetry.js";

/**
 * The telemetry that a config describes; `undefined` when it describes none.
 * @throws TroupeError `invalid_input` for headers that cannot be sent.
 */
export function configuredTelemetry(config: TelemetryConfig = {}): readonly Telemetry[] | undefined {
  const telemetry = [...(config.openTelemetry === true ? [openTelemetry()] : []), ...sidebandOf(config)];
  return telemetry.length === 0 ? undefined : telemetry;
}

function sidebandOf({ sideband: config }: TelemetryConfig): Telemetry[] {
  if (config === undefined) return [];
  const { url, show = {}, ...rest } = config;
  return [sideband(httpSink({ url, ...defined(rest) }), { show: defined(show) })];
}
