import type { Context, Link, Span, SpanContext } from "@opentelemetry/api";
import { defined } from "../core/defined.js";
import type { SubagentEvent } from "../delegation/events.js";
import type { StartingDelegation } from "../delegation/trace-context.js";
import { ATTRIBUTE, OPERATION } from "./conventions.js";
import { type Ending, endSpan, type TraceTools } from "./span-end.js";

/** Where a delegation's span begins. */
export interface DelegationPlace {
  readonly parent: Context;
  readonly links: Link[];
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** The spans of one delegation: itself, and its task at the remote from when that is known. */
export class DelegationTrace {
  readonly #span: Span;
  #remote: Span | undefined;
  readonly #startedAt: number;

  constructor(
    private readonly tools: TraceTools,
    private readonly delegation: StartingDelegation,
    { parent, links, time }: DelegationPlace,
  ) {
    const { tracer, metrics } = tools;
    const { agentKey, agentName, protocol, delegationId } = delegation;
    this.#startedAt = time;
    this.#span = tracer.startSpan(
      `${OPERATION.agent} ${agentName}`,
      {
        kind: this.#kind(),
        startTime: new Date(time),
        links,
        attributes: {
          [ATTRIBUTE.operation]: OPERATION.agent,
          [ATTRIBUTE.agentName]: agentName,
          [ATTRIBUTE.agentId]: agentKey,
          [ATTRIBUTE.delegationId]: delegationId,
          [ATTRIBUTE.protocol]: protocol,
        },
      },
      parent,
    );
    metrics.delegationStarted(agentKey, protocol);
  }

  get spanContext(): SpanContext {
    return this.#span.spanContext();
  }

  link(context: SpanContext): void {
    this.#span.addLink({ context });
  }

  /** @returns whether it is over. */
  observe(event: SubagentEvent, time: number): boolean {
    this.#atRemote(event, time);
    const tell = (name: string, attributes = {}) => this.#span.addEvent(name, attributes, new Date(time));
    switch (event.type) {
      case "subagent.started":
      case "subagent.correlated":
        this.#span.setAttribute(ATTRIBUTE.correlation, event.correlation);
        return false;
      case "subagent.status":
        tell("troupe.status", { "troupe.status": event.status });
        return false;
      case "subagent.input_required":
        tell("troupe.input_required");
        return false;
      case "subagent.input_resolved":
        tell("troupe.input_resolved", { "troupe.by": event.by });
        return false;
      case "subagent.finished":
        this.#sizes(event.sizes);
        this.end(time, { outcome: "completed" });
        return true;
      case "subagent.failed":
        this.#sizes(event.sizes);
        this.end(time, { outcome: "failed", error: event.error });
        return true;
      case "subagent.cancelled":
        this.#sizes(event.sizes);
        this.end(time, { outcome: "cancelled" });
        return true;
      default:
        return false;
    }
  }

  end(time: number, ending: Ending): void {
    const { api, metrics } = this.tools;
    const { agentKey, protocol } = this.delegation;
    if (this.#remote !== undefined) endSpan(api, this.#remote, time, ending);
    endSpan(api, this.#span, time, ending);
    metrics.delegationEnded(agentKey, protocol, time - this.#startedAt, ending.error?.code);
  }

  /** The remote has taken the task: what it does from now on is its own. */
  #atRemote({ remoteTaskId, remoteContextId }: SubagentEvent, time: number): void {
    if (remoteTaskId === undefined || this.#remote !== undefined) return;
    const { api, tracer } = this.tools;
    const { protocol, agentKey } = this.delegation;
    const ids = {
      [protocol === "a2a" ? ATTRIBUTE.a2aTaskId : ATTRIBUTE.remoteTaskId]: remoteTaskId,
      ...defined({ [ATTRIBUTE.conversation]: remoteContextId }),
    };
    this.#span.setAttributes(ids);
    this.#remote = tracer.startSpan(
      `${protocol} ${agentKey}`,
      {
        kind: this.#kind(),
        startTime: new Date(time),
        attributes: { [ATTRIBUTE.agentId]: agentKey, [ATTRIBUTE.protocol]: protocol, ...ids },
      },
      api.trace.setSpan(api.ROOT_CONTEXT, this.#span),
    );
  }

  #sizes({ seen, model }: { readonly seen: number; readonly model: number }): void {
    this.#span.setAttributes({ [ATTRIBUTE.seenBytes]: seen, [ATTRIBUTE.modelBytes]: model });
  }

  #kind() {
    const { SpanKind } = this.tools.api;
    return this.delegation.protocol === "local" ? SpanKind.INTERNAL : SpanKind.CLIENT;
  }
}
