import type { Attributes, Context, Link, Span, SpanContext } from "@opentelemetry/api";
import { defined } from "../core/defined.js";
import { isRunTerminal, type RunEvent, type Usage } from "../core/run-event.js";
import type { SubagentEvent } from "../delegation/events.js";
import type { StartingDelegation } from "../delegation/trace-context.js";
import { ATTRIBUTE, OPERATION } from "./conventions.js";
import { DelegationTrace } from "./delegation-trace.js";
import { type Ending, endSpan, type OpenTelemetryApi, setError, type TraceTools } from "./span-end.js";
import type { ObservedEntry, ObservedThread, StartingRun } from "./telemetry.js";

/** A tool call that goes on. */
interface ToolCall {
  readonly span: Span;
  readonly name: string;
  readonly startedAt: number;
}

/** The spans of one run: itself, its tool calls, and its delegations. */
export class RunTrace {
  readonly #span: Span;
  readonly #context: Context;
  readonly #calls = new Map<string, ToolCall>();
  readonly #delegations = new Map<string, DelegationTrace>();
  /** An entry of it has been read. */
  seen = false;
  #usage: Usage | undefined;
  #ended = false;

  /** @param startedAt milliseconds since the epoch */
  constructor(
    private readonly tools: TraceTools,
    private readonly run: StartingRun,
    { threadId, tenant }: ObservedThread,
    private readonly startedAt: number,
  ) {
    const { api, tracer, metrics } = tools;
    this.#span = tracer.startSpan(
      `${OPERATION.agent} ${run.agent}`,
      {
        kind: api.SpanKind.INTERNAL,
        startTime: new Date(startedAt),
        attributes: {
          [ATTRIBUTE.operation]: OPERATION.agent,
          [ATTRIBUTE.agentName]: run.agent,
          [ATTRIBUTE.conversation]: threadId,
          [ATTRIBUTE.runId]: run.runId,
          ...defined({ [ATTRIBUTE.tenant]: tenant }),
        },
      },
      parentOf(api, run.traceparent),
    );
    this.#context = api.trace.setSpan(api.ROOT_CONTEXT, this.#span);
    metrics.runStarted(run.agent);
  }

  /** Nothing of it goes on. */
  get over(): boolean {
    return this.#ended && this.#delegations.size === 0;
  }

  /** @returns the `traceparent` that the remote gets; `undefined` where nobody makes spans. */
  delegationStarting(delegation: StartingDelegation, time: number): string | undefined {
    const { api } = this.tools;
    const { delegationId, parentToolCallId, tool, traceparent } = delegation;
    const call = parentToolCallId === undefined ? undefined : this.#tool(parentToolCallId, tool, time);
    const told = traceparent === undefined ? undefined : contextOf(api, traceparent);
    // Where the caller has a span of its own for the call, ours for the same call is not between them.
    const links: Link[] =
      told !== undefined && call !== undefined ? [{ context: call.span.spanContext() }] : [];
    const parent =
      told ?? (call === undefined ? this.#context : api.trace.setSpan(api.ROOT_CONTEXT, call.span));
    const trace = new DelegationTrace(this.tools, delegation, { parent, links, time });
    this.#delegations.set(delegationId, trace);
    return traceparentOf(api, trace.spanContext, api.trace.getSpanContext(parent));
  }

  observe({ event, time }: ObservedEntry): void {
    if (event.type === "stream.gap") return;
    this.seen = true;
    if ("delegationId" in event) this.#subagent(event, time);
    else this.#own(event, time);
  }

  /** How it ended will never be known. */
  abandon(time: number): void {
    for (const delegation of this.#delegations.values()) delegation.end(time, { outcome: "unknown" });
    this.#delegations.clear();
    if (!this.#ended) this.#end(time, { outcome: "unknown" });
  }

  #own(event: RunEvent, time: number): void {
    switch (event.type) {
      case "tool.start": {
        const name = event.tool ?? event.name;
        const { span } = this.#tool(event.toolCallId, name, time, event.parentToolCallId);
        if (event.server !== undefined) span.setAttribute(ATTRIBUTE.toolServer, event.server);
        return;
      }
      case "tool.result":
        return this.#toolEnded(event, time);
      case "approval.requested":
        this.#span.addEvent(
          "troupe.approval.requested",
          { "troupe.approval.kind": event.approval.kind },
          new Date(time),
        );
        return;
      case "approval.resolved":
        this.#span.addEvent(
          "troupe.approval.resolved",
          { "troupe.approval.decision": event.decision },
          new Date(time),
        );
        return;
      case "usage":
        this.#usage = event.usage;
        return;
      default:
    }
    if (!isRunTerminal(event)) return;
    if ("usage" in event) this.#usage = event.usage ?? this.#usage;
    if (event.type === "run.failed") this.#end(time, { outcome: "failed", error: event.error });
    else this.#end(time, { outcome: event.type === "run.cancelled" ? "cancelled" : "completed" });
  }

  #subagent(event: SubagentEvent, time: number): void {
    const delegation = this.#delegations.get(event.delegationId);
    if (delegation === undefined) return;
    const { parentToolCallId } = event;
    const call = parentToolCallId === undefined ? undefined : this.#calls.get(parentToolCallId);
    call?.span.setAttributes({ [ATTRIBUTE.delegation]: true, [ATTRIBUTE.delegationId]: event.delegationId });
    if (event.type === "subagent.correlated" && call !== undefined) delegation.link(call.span.spanContext());
    if (delegation.observe(event, time)) this.#delegations.delete(event.delegationId);
  }

  #tool(id: string, name: string, time: number, within?: string): ToolCall {
    const known = this.#calls.get(id);
    if (known !== undefined) return known;
    const { api, tracer } = this.tools;
    const outer = within === undefined ? undefined : this.#calls.get(within);
    const span = tracer.startSpan(
      `${OPERATION.tool} ${name}`,
      {
        kind: api.SpanKind.INTERNAL,
        startTime: new Date(time),
        attributes: {
          [ATTRIBUTE.operation]: OPERATION.tool,
          [ATTRIBUTE.toolName]: name,
          [ATTRIBUTE.toolCallId]: id,
        },
      },
      outer === undefined ? this.#context : api.trace.setSpan(api.ROOT_CONTEXT, outer.span),
    );
    const call = { span, name, startedAt: time };
    this.#calls.set(id, call);
    return call;
  }

  #toolEnded(event: RunEvent & { readonly type: "tool.result" }, time: number): void {
    const call = this.#calls.get(event.toolCallId);
    if (call === undefined) return;
    this.#calls.delete(event.toolCallId);
    // A result that the run made itself says nothing of the tool.
    const failed = event.isError && event.synthetic !== true;
    const error = failed ? "tool_error" : undefined;
    if (event.synthetic === true) call.span.setAttribute(ATTRIBUTE.outcome, "unknown");
    if (failed) setError(this.tools.api, call.span, "tool_error");
    call.span.end(new Date(time));
    this.tools.metrics.toolEnded(this.run.agent, call.name, time - call.startedAt, error);
  }

  #end(time: number, ending: Ending): void {
    if (this.#ended) return;
    this.#ended = true;
    const { api, metrics } = this.tools;
    for (const { span } of this.#calls.values())
      span.setAttribute(ATTRIBUTE.outcome, "unknown").end(new Date(time));
    this.#calls.clear();
    this.#span.setAttributes(usageAttributes(this.#usage));
    endSpan(api, this.#span, time, ending);
    if (this.#usage !== undefined) metrics.tokens(this.run.agent, this.#usage);
    metrics.runEnded(this.run.agent, time - this.startedAt, ending.error?.code);
  }
}

/**
 * What a run's span continues: the span that is active where the run was asked for, unless the caller told of a trace that this one
 * is no part of.
 */
function parentOf(api: OpenTelemetryApi, traceparent: string | undefined): Context {
  const active = api.context.active();
  const told = traceparent === undefined ? undefined : contextOf(api, traceparent);
  const spanContext = api.trace.getSpanContext(active);
  if (told === undefined || spanContext?.traceId === api.trace.getSpanContext(told)?.traceId) return active;
  return told;
}

/** @param traceparent checked before */
function contextOf(api: OpenTelemetryApi, traceparent: string): Context {
  const [, traceId = "", spanId = "", flags = "00"] = traceparent.split("-");
  const spanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return api.trace.setSpanContext(api.ROOT_CONTEXT, spanContext);
}

/** Without an SDK a span is its own parent, or has no ids at all: then there is none to tell of. */
function traceparentOf(
  api: OpenTelemetryApi,
  own: SpanContext,
  parent: SpanContext | undefined,
): string | undefined {
  if (!api.isSpanContextValid(own) || own.spanId === parent?.spanId) return undefined;
  const flags = (own.traceFlags & 0xff).toString(16).padStart(2, "0");
  return `00-${own.traceId}-${own.spanId}-${flags}`;
}

function usageAttributes(usage: Usage | undefined): Attributes {
  if (usage === undefined) return {};
  return defined({
    [ATTRIBUTE.inputTokens]: usage.inputTokens,
    [ATTRIBUTE.outputTokens]: usage.outputTokens,
    [ATTRIBUTE.cachedTokens]: usage.cachedInputTokens,
    [ATTRIBUTE.cost]: usage.cost,
  });
}
