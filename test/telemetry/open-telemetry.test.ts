import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { AlwaysOffSampler, ParentBasedSampler } from "@opentelemetry/sdk-trace-base";
import { describe, expect, it } from "vitest";
import { MCP_SERVER_NAME } from "../../src/delegation/server-name.js";
import { local } from "../../src/remotes/local/local.js";
import { agentOf, FINISHED, say } from "../support/fake-agent.js";
import { collect, customValue, type Frame } from "../support/frames.js";
import { startTestHost, type TestHost } from "../support/host.js";
import { OtelBench } from "../support/otel-bench.js";

const call = (id: string, objective: string, agent = "research") => ({
  name: "delegate_to_agent",
  id,
  input: { agent, objective },
});
const script = (...tools: ReturnType<typeof call>[]) => ({
  turns: [[...tools.map((tool) => ({ tools: [tool] })), { say: "Done." }]],
});

/** The `traceparent` headers of the messages that the remote got. */
async function traceparents({ remote }: TestHost): Promise<(string | undefined)[]> {
  const calls = await remote.seen();
  return calls.filter(({ params }) => Object(params).message).map(({ headers }) => headers.traceparent);
}

const started = (frames: readonly Frame[]) =>
  customValue(frames.find(({ event }) => event.name === "subagent.started"));

describe("OpenTelemetry's own SDK, a scripted Claude Code and the A2A SDK's server", () => {
  it("run, tool, delegation and remote call hang together, and the remote got the delegation's span as its parent", async () => {
    await using otel = new OtelBench();
    await using host = await startTestHost({
      script: script(call("toolu_1", "#say Hello.")),
      host: { telemetry: [otel.telemetry()] },
    });
    const frames = await collect(await host.post("go"));
    await expect.poll(() => otel.spans.length).toBe(4);

    expect(otel.tree()).toEqual({
      "a2a research": "invoke_agent Research Agent",
      "invoke_agent Research Agent": "execute_tool delegate_to_agent",
      "execute_tool delegate_to_agent": "invoke_agent claude",
      "invoke_agent claude": undefined,
    });
    const delegation = otel.span("invoke_agent Research Agent");
    const { traceId, spanId } = delegation.spanContext();
    expect(await traceparents(host)).toEqual([`00-${traceId}-${spanId}-01`]);
    expect(new Set(otel.spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]));

    const { delegationId, remoteTaskId, remoteContextId } = started(frames);
    expect(delegation.kind).toBe(SpanKind.CLIENT);
    expect(delegation.attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "Research Agent",
      "gen_ai.agent.id": "research",
      "gen_ai.conversation.id": remoteContextId,
      "a2a.task.id": remoteTaskId,
      "troupe.delegation.id": delegationId,
      "troupe.protocol": "a2a",
      "troupe.correlation": "strong",
      "troupe.outcome": "completed",
    });
    expect(otel.span("execute_tool delegate_to_agent").attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "delegate_to_agent",
      "gen_ai.tool.call.id": "toolu_1",
      "troupe.tool.server": MCP_SERVER_NAME,
      "troupe.delegation": true,
      "troupe.delegation.id": delegationId,
    });
    const run = otel.span("invoke_agent claude");
    expect(run.kind).toBe(SpanKind.INTERNAL);
    expect(run.attributes).toMatchObject({
      "gen_ai.agent.name": "claude",
      "gen_ai.conversation.id": "thread-1",
      "troupe.run.id": "run-1",
      "troupe.outcome": "completed",
    });
    expect(run.attributes).not.toHaveProperty("troupe.tenant");
    expect(run.status.code).toBe(SpanStatusCode.UNSET);
    expect(JSON.stringify(otel.spans.map(({ attributes }) => attributes))).not.toContain("Hello.");
  });

  it("metrics count what goes on, and say how long it took", async () => {
    await using otel = new OtelBench();
    await using host = await startTestHost({
      script: script(call("toolu_1", "#say Hello."), call("toolu_2", "#fail It broke.")),
      host: { telemetry: [otel.telemetry()] },
    });
    await collect(await host.post("go"));
    await expect.poll(() => otel.spans.length).toBe(7);
    const count = async (metric: string) =>
      (await otel.points(metric)).map(({ attributes, value }) => [
        attributes,
        Object(value).count ?? Number(value),
      ]);

    expect(await count("troupe.runs.active")).toEqual([[{ "gen_ai.agent.name": "claude" }, 0]]);
    const research = { "gen_ai.agent.name": "research", "troupe.protocol": "a2a" };
    expect(await count("troupe.delegations.active")).toEqual([[research, 0]]);
    expect(await count("gen_ai.invoke_agent.duration")).toEqual([[{ "gen_ai.agent.name": "claude" }, 1]]);
    const delegations = { ...research, "gen_ai.operation.name": "invoke_agent" };
    expect(await count("gen_ai.client.operation.duration")).toEqual([
      [delegations, 1],
      [{ ...delegations, "error.type": "remote_failed" }, 1],
    ]);
    expect(await count("troupe.errors")).toEqual([
      [{ "troupe.scope": "delegation", "gen_ai.agent.name": "research", "error.type": "remote_failed" }, 1],
    ]);
    const tools = { "gen_ai.agent.name": "claude", "gen_ai.tool.name": "delegate_to_agent" };
    expect(await count("gen_ai.execute_tool.duration")).toEqual([
      [tools, 1],
      [{ ...tools, "error.type": "tool_error" }, 1],
    ]);
    const tokens = { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "claude" };
    expect(await count("gen_ai.client.token.usage")).toEqual([
      [{ ...tokens, "gen_ai.token.type": "input" }, 1],
      [{ ...tokens, "gen_ai.token.type": "output" }, 1],
    ]);
    const [[, lags = 0] = []] = await count("troupe.journal.lag");
    expect(lags).toBeGreaterThan(0);
  });

  it("a delegation that fails is an error with our code; what a person stops is none", async () => {
    await using otel = new OtelBench();
    await using host = await startTestHost({
      script: script(call("toolu_1", "#fail It broke.")),
      host: { telemetry: [otel.telemetry()] },
    });
    await collect(await host.post("go"));
    await expect.poll(() => otel.spans.length).toBe(4);
    for (const name of ["invoke_agent Research Agent", "a2a research"]) {
      expect(otel.span(name).status).toMatchObject({ code: SpanStatusCode.ERROR });
      expect(otel.span(name).attributes).toMatchObject({
        "error.type": "remote_failed",
        "troupe.outcome": "failed",
      });
    }
    expect(otel.span("execute_tool delegate_to_agent").attributes["error.type"]).toBe("tool_error");

    await using stopped = await startTestHost({
      script: script(call("toolu_1", "#say Once.\n#hang")),
      host: { telemetry: [otel.telemetry()] },
    });
    const enough = ({ event }: Frame) => event.name === "subagent.text.delta";
    await collect(await stopped.post("go", { runId: "run-2" }), enough);
    await stopped.send("/runs/run-2/cancel");
    await expect.poll(() => otel.spans.length).toBe(8);
    const cancelled = otel.spans.slice(4).filter(({ name }) => name !== "execute_tool delegate_to_agent");
    expect(
      cancelled.map(({ name, status, attributes }) => [name, status.code, attributes["troupe.outcome"]]),
    ).toEqual([
      ["a2a research", SpanStatusCode.UNSET, "cancelled"],
      ["invoke_agent Research Agent", SpanStatusCode.UNSET, "cancelled"],
      ["invoke_agent claude", SpanStatusCode.UNSET, "cancelled"],
    ]);
  });

  it("a run goes on with the trace that its caller told", async () => {
    await using otel = new OtelBench();
    await using host = await startTestHost({
      script: script(call("toolu_1", "#say Hello.")),
      host: { telemetry: [otel.telemetry()] },
    });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await collect(await host.post("go", { headers: { traceparent } }));
    await expect.poll(() => otel.spans.length).toBe(4);
    const run = otel.span("invoke_agent claude");
    expect(run.parentSpanContext).toMatchObject({ spanId: "b7ad6b7169203331", isRemote: true });
    const { spanId } = otel.span("invoke_agent Research Agent").spanContext();
    expect(await traceparents(host)).toEqual([`00-0af7651916cd43dd8448eb211c80319c-${spanId}-01`]);
  });

  it("what is not sampled stays so at the remote", async () => {
    await using otel = new OtelBench(new ParentBasedSampler({ root: new AlwaysOffSampler() }));
    await using host = await startTestHost({
      script: script(call("toolu_1", "#say Hello.")),
      host: { telemetry: [otel.telemetry()] },
    });
    await collect(await host.post("go"));
    expect(await traceparents(host)).toEqual([expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)]);
    expect(otel.spans).toEqual([]);
  });

  it("an agent of the host itself is in the same trace, below the delegation", async () => {
    await using otel = new OtelBench();
    const helper = agentOf(
      (sink) => {
        say(sink, "Four.");
        return FINISHED;
      },
      { name: "helper" },
    );
    await using host = await startTestHost({
      script: script(call("toolu_1", "2 + 2", "helper")),
      agents: { helper: helper.agent },
      host: { telemetry: [otel.telemetry()], subAgents: [local({ name: "helper", agent: "helper" })] },
    });
    await collect(await host.post("go"));
    await expect.poll(() => otel.spans.length).toBe(5);
    const byKind = (kind: string) => otel.spans.filter(({ name }) => name === kind);
    const [delegation, own] = ["troupe.delegation.id", "troupe.run.id"].map((attribute) =>
      byKind("invoke_agent helper").find(({ attributes }) => attribute in attributes),
    );
    expect(own?.parentSpanContext?.spanId).toBe(delegation?.spanContext().spanId);
    expect(delegation?.kind).toBe(SpanKind.INTERNAL);
  });

  it("without an SDK nothing is made, and the remote gets what it gets without telemetry", async () => {
    const { openTelemetry } = await import("../../src/telemetry/open-telemetry.js");
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const told: (string | undefined)[] = [];
    for (const telemetry of [[], [openTelemetry()]]) {
      await using host = await startTestHost({
        script: script(call("toolu_1", "#say Hello.")),
        host: { telemetry, createId: (prefix) => `${prefix}-1` },
      });
      await collect(await host.post("go", { headers: { traceparent } }));
      told.push(...(await traceparents(host)));
    }
    expect(told[0]).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-/);
    expect(told[1]).toBe(told[0]);
  });
});
