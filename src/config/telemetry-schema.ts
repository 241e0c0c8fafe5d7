import { z } from "zod";
import { httpUrl } from "./sub-agent-schema.js";

const count = z.int().positive();

const sideband = z.strictObject({
  url: httpUrl.describe("Where batches of events are posted. Nothing goes to any other origin."),
  headers: z
    .record(z.string(), z.string())
    .optional()
    .describe("Headers of each request. Write ${VARIABLE}, not a credential itself."),
  show: z
    .strictObject({
      reasoning: z.boolean().optional().describe("Thoughts; true by default."),
      tools: z.enum(["none", "names", "full"]).optional().describe('Tool calls; "full" by default.'),
      files: z.boolean().optional().describe("Paths of files that are changed; true by default."),
      usage: z.boolean().optional().describe("Tokens and cost; true by default."),
    })
    .optional()
    .describe("What is sent; everything by default."),
  batchSize: count.optional().describe("Events of one batch at most; 100 by default."),
  flushMs: count
    .optional()
    .describe("How long an event waits for others to share its batch, in milliseconds; 1,000 by default."),
  maxQueued: count
    .optional()
    .describe("Events that wait at most; beyond it the oldest are dropped. 10,000 by default."),
  retries: z.int().min(0).optional().describe("Attempts after the first one of a batch; 5 by default."),
  timeoutMs: count.optional().describe("How long an attempt may take, in milliseconds; 10,000 by default."),
});

/** What a host tells its operators. */
export const telemetrySchema = z.strictObject({
  openTelemetry: z
    .boolean()
    .optional()
    .describe(
      "Spans and metrics, by the OpenTelemetry SDK that the process was started with; false by default.",
    ),
  sideband: sideband.optional().describe("Sends what agents do beside their answers to an HTTP collector."),
});

/** Telemetry that was checked. */
export type TelemetryConfig = z.infer<typeof telemetrySchema>;
