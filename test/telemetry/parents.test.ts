import { context, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { afterEach, describe, expect, it } from "vitest";
import type { StartingDelegation } from "../../src/delegation/trace-context.js";
import { createHost } from "../../src/host/host.js";
import type { ObservedEvent } from "../../src/telemetry/telemetry.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { agentOf, FINISHED } from "../support/fake-agent.js";
import { OtelBench } from "../support/otel-bench.js";
import { ServiceBench } from "../support/service-bench.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const TOLD = `00-${TRACE}-b7ad6b7169203331-01`;
const RUN = { thread: "/t", runId: "run-1" };
const DELEGATION: StartingDelegation = {
  delegationId: "del-1",
  agentKey: "research",
  agentName: "Research Agent",
  protocol: "a2a",
  tool: "delegate_to_agent",
};
const IDENTITY = { ...DELEGATION, runId: "run-1" };
const SIZES = { seen: 1, model: 1 };

/** OpenTelemetry without a host: what it is told, and by which clock. */
function bench() {
  const otel = new OtelBench();
  const clock = new ManualClock();
  const telemetry = otel.telemetry();
  let cursor = 0;
  const observe = (...events: ObservedEvent[]) =>
    telemetry.observe(
      events.map((event) => ({ ...RUN, cursor: String(++cursor), time: clock.now(), event })),
    );
  const open = () => telemetry.open({ clock, describeThread: (thread) => ({ threadId: thread.slice(1) }) });
  return { otel, clock, telemetry, observe, open };
}

describe("traceparent in the _meta of an MCP call", () => {
  it.each(["modern", "legacy"] as const)(
    "%s: the remote continues it, with or without telemetry",
    async (era) => {
      const service = await ServiceBench.open();
      const client = await service.connect(era);
      const calling = client.callTool({ ...service.call(), _meta: { traceparent: TOLD } });
      await service.started();
      expect(service.bench.task.task.traceparent).toMatch(
        new RegExp(`^00-${TRACE}-(?!b7ad6b7169203331)[0-9a-f]{16}-01$`),
      );
      await service.completes();
      await calling;
    },
  );

  it("that is none counts as absent", async () => {
    const service = await ServiceBench.open();
    const client = await service.connect("modern");
    const calling = client.callTool({ ...service.call(), _meta: { traceparent: `${TOLD}-x` } });
    await service.started();
    expect(service.bench.task.task.traceparent).not.toContain(TRACE);
    await service.completes();
    await calling;
  });

  it("is the parent of the delegation's span, which is linked to the tool call's", async () => {
    const { otel, telemetry, observe, open } = bench();
    await open();
    telemetry.runStarting?.({ ...RUN, agent: "claude" });
    const told = telemetry.delegationStarting?.(RUN, {
      ...DELEGATION,
      parentToolCallId: "call-1",
      traceparent: TOLD,
    });
    expect(told).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    observe(
      { type: "run.started", agent: "claude", messages: [] },
      { type: "tool.start", toolCallId: "call-1", name: "delegate_to_agent" },
      { ...IDENTITY, type: "subagent.finished", result: {}, sizes: SIZES },
      { type: "tool.result", toolCallId: "call-1", content: "", isError: false },
      { type: "run.finished", text: "" },
    );
    const delegation = otel.span("invoke_agent Research Agent");
    expect(delegation.parentSpanContext?.spanId).toBe("b7ad6b7169203331");
    const tool = otel.span("execute_tool delegate_to_agent").spanContext();
    expect(delegation.links.map((link) => link.context.spanId)).toEqual([tool.spanId]);
    expect(told?.split("-")[2]).toBe(delegation.spanContext().spanId);
  });
});

describe("a delegation", () => {
  it("whose tool call is known later is linked to it", async () => {
    const { otel, telemetry, observe, open } = bench();
    await open();
    telemetry.runStarting?.({ ...RUN, agent: "claude" });
    telemetry.delegationStarting?.(RUN, DELEGATION);
    observe(
      { type: "tool.start", toolCallId: "call-1", name: "delegate_to_agent" },
      { ...IDENTITY, parentToolCallId: "call-1", type: "subagent.correlated", correlation: "medium" },
      { ...IDENTITY, type: "subagent.cancelled", reason: "user", confirmed: true, result: {}, sizes: SIZES },
      { type: "tool.result", toolCallId: "call-1", content: "", isError: false, synthetic: true },
      { type: "run.finished", text: "" },
    );
    const [link] = otel.span("invoke_agent Research Agent").links;
    expect(link?.context.spanId).toBe(otel.span("execute_tool delegate_to_agent").spanContext().spanId);
    expect(otel.tree()["invoke_agent Research Agent"]).toBe("invoke_agent claude");
  });

  it("outlives its run, and spans have the entries' own times", async () => {
    const { otel, clock, telemetry, observe, open } = bench();
    await open();
    const start = clock.now();
    telemetry.runStarting?.({ ...RUN, agent: "claude" });
    telemetry.delegationStarting?.(RUN, DELEGATION);
    await clock.advance(2_000);
    observe({ ...IDENTITY, remoteTaskId: "task-1", type: "subagent.status", status: "working" });
    observe({
      type: "run.finished",
      text: "",
      usage: { inputTokens: 7, outputTokens: 3, cachedInputTokens: 2 },
    });
    await clock.advance(60_000);
    observe({ ...IDENTITY, type: "subagent.finished", result: {}, sizes: SIZES });
    const seconds = (name: string) => {
      const { startTime, endTime } = otel.span(name);
      return [startTime, endTime].map(([whole, nano]) => whole + nano / 1e9 - start / 1_000);
    };
    expect(seconds("invoke_agent claude")).toEqual([0, 2]);
    expect(seconds("invoke_agent Research Agent")).toEqual([0, 62]);
    expect(seconds("a2a research")).toEqual([2, 62]);
    expect(otel.span("invoke_agent claude").attributes).toMatchObject({
      "gen_ai.usage.input_tokens": 7,
      "gen_ai.usage.output_tokens": 3,
      "gen_ai.usage.cache_read.input_tokens": 2,
    });
    const [delegations] = await otel.points("gen_ai.client.operation.duration");
    expect(delegations?.value).toMatchObject({ count: 1, sum: 62 });
  });
});

describe("what will never end", () => {
  it.each([
    ["the journal was trimmed", "gap"],
    ["the host closes", "close"],
    ["the journal did not take the run", "dropped"],
  ])("%s: its spans end, and nothing counts as active", async (_why, how) => {
    const { otel, telemetry, observe, open, clock } = bench();
    await open();
    telemetry.runStarting?.({ ...RUN, agent: "claude" });
    telemetry.delegationStarting?.(RUN, DELEGATION);
    if (how !== "dropped") observe({ type: "tool.start", toolCallId: "call-1", name: "Bash" });
    const gap = { type: "stream.gap", after: "1", resumesAt: "9" } as const;
    if (how === "gap") telemetry.observe([{ ...RUN, cursor: "9", time: clock.now(), event: gap }]);
    else if (how === "dropped") telemetry.runDropped?.(RUN);
    else await telemetry.close();
    expect(otel.span("invoke_agent claude").attributes["troupe.outcome"]).toBe("unknown");
    expect(otel.span("invoke_agent Research Agent").attributes["troupe.outcome"]).toBe("unknown");
    for (const metric of ["troupe.runs.active", "troupe.delegations.active"])
      expect((await otel.points(metric)).map(({ value }) => value)).toEqual([0]);
  });
});

describe("the span that is active where a run is asked for", () => {
  afterEach(() => context.disable());

  it.each([
    ["alone", undefined],
    ["with the caller's trace, which it belongs to", "same"],
    ["with another trace, which counts", TOLD],
  ])("is its parent: %s", async (_what, told) => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const { otel, telemetry, open } = bench();
    await open();
    const outer = otel.tracerProvider.getTracer("app").startSpan("POST /chat");
    const { traceId, spanId } = outer.spanContext();
    const traceparent = told === "same" ? `00-${traceId}-b7ad6b7169203331-01` : told;
    context.with(trace.setSpan(ROOT_CONTEXT, outer), () =>
      telemetry.runStarting?.({
        ...RUN,
        agent: "claude",
        ...(traceparent === undefined ? {} : { traceparent }),
      }),
    );
    await telemetry.close();
    const parent = otel.span("invoke_agent claude").parentSpanContext?.spanId;
    expect(parent).toBe(told === TOLD ? "b7ad6b7169203331" : spanId);
  });

  it("reaches runs that are started in code", async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const otel = new OtelBench();
    const host = await createHost({
      agents: { quick: agentOf(() => FINISHED, { name: "quick" }).agent },
      telemetry: [otel.telemetry()],
    });
    const outer = otel.tracerProvider.getTracer("app").startSpan("POST /chat");
    const { run } = context.with(trace.setSpan(ROOT_CONTEXT, outer), () => host.run("quick", "go"));
    await run.result;
    await host.close();
    expect(otel.span("invoke_agent quick").parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
  });
});
