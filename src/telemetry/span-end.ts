import type { Span, Tracer } from "@opentelemetry/api";
import { startOf } from "../core/text.js";
import { ATTRIBUTE } from "./conventions.js";
import type { Metrics } from "./metrics.js";

/** The package `@opentelemetry/api`, which is loaded only where it is asked for. */
export type OpenTelemetryApi = typeof import("@opentelemetry/api");

/** What traces are made with. */
export interface TraceTools {
  readonly api: OpenTelemetryApi;
  readonly tracer: Tracer;
  readonly metrics: Metrics;
}

/** Characters of an error's text. */
const MAX_MESSAGE = 500;

/** How something ended. */
export interface Ending {
  readonly outcome: "completed" | "failed" | "cancelled" | "unknown";
  readonly error?: { readonly code: string; readonly message: string };
}

/** Ends a span with its outcome. That a person stopped something is no error. */
export function endSpan(api: OpenTelemetryApi, span: Span, time: number, { outcome, error }: Ending): void {
  span.setAttribute(ATTRIBUTE.outcome, outcome);
  if (error !== undefined) setError(api, span, error.code, error.message);
  span.end(new Date(time));
}

/** @param code a code of ours, which is the error's type */
export function setError(api: OpenTelemetryApi, span: Span, code: string, message?: string): void {
  span.setAttribute(ATTRIBUTE.errorType, code);
  span.setStatus({
    code: api.SpanStatusCode.ERROR,
    ...(message === undefined ? {} : { message: startOf(message, MAX_MESSAGE) }),
  });
}
