import { TaskArtifactUpdateEvent } from "@a2a-js/sdk";
import { describe, expect, it, vi } from "vitest";
import { createHost } from "../../src/host/host.js";
import { functionSink } from "../../src/telemetry/function-sink.js";
import { httpSink } from "../../src/telemetry/http-sink.js";
import { sideband } from "../../src/telemetry/sideband.js";
import type { SidebandEvent, SidebandSink } from "../../src/telemetry/sideband-event.js";
import { byHeader } from "../support/app-bench.js";
import { Collector } from "../support/collector.js";
import { agentOf, FINISHED } from "../support/fake-agent.js";
import { collect, customValue } from "../support/frames.js";
import { startTestHost } from "../support/host.js";

const delegating = {
  turns: [
    [
      { think: "Whom to ask?" },
      {
        tools: [
          { name: "Write", id: "toolu_0", input: { file_path: "notes.md", content: "x" }, result: "ok" },
        ],
      },
      {
        tools: [
          {
            name: "delegate_to_agent",
            id: "toolu_1",
            input: { agent: "research", objective: "#say Hello." },
          },
        ],
      },
      { say: "All done, my answer." },
    ],
  ],
};

const dataOf = ({ artifact }: SidebandEvent) => artifact.parts[0].data;
const named = (events: readonly SidebandEvent[], name: string) =>
  events.filter(({ artifact }) => artifact.name === name);

/** Keeps all events. */
function keeping(): SidebandSink & { readonly events: SidebandEvent[] } {
  const events: SidebandEvent[] = [];
  return { events, send: (event) => void events.push(event), close: async () => undefined };
}

describe("a collector behind a host that delegates", () => {
  it("gets tool calls, thoughts, files, usage and the delegation, as artifacts that A2A's own SDK reads", async () => {
    await using collector = await Collector.start();
    const token = "tok-5d1e7f0a";
    const sink = httpSink({ url: collector.url, headers: { authorization: `Bearer ${token}` }, flushMs: 20 });
    await using host = await startTestHost({
      script: delegating,
      agent: { permissions: "allow" },
      host: { telemetry: [sideband(sink)], authorise: byHeader },
    });
    const frames = await collect(await host.post("go", { headers: { authorization: "tenant acme" } }));
    const { delegationId } = customValue(frames.find(({ event }) => event.name === "subagent.started"));
    await expect.poll(() => named(collector.events, "trace.usage").length).toBeGreaterThan(0);
    await host.host.close();
    const { events } = collector;

    const calls = [...named(events, "trace.mcp.start"), ...named(events, "trace.mcp")].map(dataOf);
    const delegated = calls.filter(({ toolCallId }) => toolCallId === "toolu_1");
    expect(delegated).toMatchObject([
      { tool: "delegate_to_agent", toolKind: "a2a_subagent", delegation: true },
      { tool: "delegate_to_agent", toolKind: "a2a_subagent", delegation: true, request: expect.any(String) },
      {
        tool: "delegate_to_agent",
        toolKind: "a2a_subagent",
        delegation: true,
        delegationId,
        status: "completed",
        response: expect.stringContaining("Hello."),
      },
    ]);
    for (const own of calls.filter(({ toolCallId }) => toolCallId === "toolu_0"))
      expect(own).not.toHaveProperty("delegation");
    expect(named(events, "trace.file").map(dataOf)).toMatchObject([
      { path: "notes.md", status: "completed" },
    ]);
    expect(
      named(events, "trace.thinking")
        .map(dataOf)
        .map(({ content }) => content)
        .join(""),
    ).toBe("Whom to ask?");
    expect(named(events, "trace.delegation.start").map(dataOf)).toMatchObject([
      { delegationId, agentKey: "research", protocol: "a2a", toolCallId: "toolu_1", request: "#say Hello." },
    ]);
    expect(named(events, "trace.delegation").map(dataOf)).toMatchObject([
      {
        delegationId,
        status: "completed",
        toolKind: "a2a_subagent",
        delegation: true,
        sizes: { seen: expect.any(Number) },
      },
    ]);

    for (const event of events) {
      expect(event).toMatchObject({
        taskId: "run-1",
        contextId: "thread-1",
        artifact: { extensions: ["urn:x-a2a:trace:v1"], metadata: { traceType: event.artifact.name } },
        metadata: { tenant: "acme", agent: "claude" },
      });
      const read = TaskArtifactUpdateEvent.fromJSON(event);
      expect(read.artifact?.parts[0]?.content).toMatchObject({ $case: "data", value: dataOf(event) });
      expect(read).toMatchObject({ append: event.append, lastChunk: event.lastChunk });
    }
    const text = collector.batches.map((batch) => batch.text).join("\n");
    expect(text).not.toContain(token);
    expect(text).not.toContain("my answer");
  });

  it("what is not to be shown is not sent", async () => {
    const sink = keeping();
    await using host = await startTestHost({
      script: delegating,
      agent: { permissions: "allow" },
      host: {
        telemetry: [
          sideband(sink, { show: { reasoning: false, tools: "names", usage: false, files: false } }),
        ],
      },
    });
    await collect(await host.post("go"));
    await host.host.close();
    expect([...new Set(sink.events.map(({ artifact }) => artifact.name))].sort()).toEqual([
      "trace.delegation",
      "trace.delegation.start",
      "trace.mcp",
      "trace.mcp.start",
    ]);
    expect(JSON.stringify(sink.events)).not.toMatch(/#say|"request"|"response"|notes\.md/);
  });

  it("two runs in one thread, and what a detached delegation does after its own", async () => {
    const sink = keeping();
    await using host = await startTestHost({
      script: {
        turns: [
          [
            {
              tools: [
                {
                  name: "delegate_to_agent",
                  id: "toolu_1",
                  input: { agent: "research", objective: "#say One.\n#input Which?\n#say Two." },
                },
              ],
            },
          ],
          [{ think: "Again." }],
        ],
      },
      policy: { onRunEnd: "detach" },
      host: { telemetry: [sideband(sink)], syncBudgetMs: 1 },
    });
    await collect(await host.post("go"));
    expect(named(sink.events, "trace.delegation")).toEqual([]);
    await collect(await host.post("more", { runId: "run-2" }));
    await expect
      .poll(async () => {
        const [delegation] = (await (await host.get("/runs/run-1/delegations")).json()).delegations;
        return (await host.send(`/delegations/${delegation.delegationId}/input`, { text: "this" })).status;
      })
      .toBe(202);
    await expect.poll(() => named(sink.events, "trace.delegation").length).toBe(1);
    expect(named(sink.events, "trace.delegation")).toMatchObject([{ taskId: "run-1" }]);
    expect(named(sink.events, "trace.thinking").every(({ taskId }) => taskId === "run-2")).toBe(true);
    expect([...new Set(sink.events.map(({ taskId }) => taskId))].sort()).toEqual(["run-1", "run-2"]);
  });
});

describe("a run is not touched", () => {
  it("by a sink that throws, and the log is told once", async () => {
    const log = vi.spyOn(console, "error").mockReturnValue();
    const broken: SidebandSink = {
      send() {
        throw new Error("sink broke");
      },
      close: () => Promise.reject(new Error("cannot close")),
    };
    const sink = keeping();
    await using host = await startTestHost({
      script: delegating,
      agent: { permissions: "allow" },
      host: { telemetry: [sideband(broken), sideband(sink)] },
    });
    const frames = await collect(await host.post("go"));
    await host.host.close();
    expect(frames.at(-1)?.event.type).toBe("RUN_FINISHED");
    expect(named(sink.events, "trace.delegation")).toHaveLength(1);
    const told = log.mock.calls
      .filter(([what]) => what === "Telemetry:")
      .map(([, error]) => String(error).split("\n")[0]);
    expect(told).toEqual(["Error: sink broke", "Error: cannot close"]);
    log.mockRestore();
  });

  it("by a dead collector: 100,000 deltas later little waits", async () => {
    const problems: string[] = [];
    const sink = httpSink({
      url: "http://127.0.0.1:1/collect",
      maxQueued: 50,
      batchSize: 10,
      onProblem: (text) => problems.push(text),
      closeMs: 100,
    });
    const sizes: number[] = [];
    const spied: SidebandSink = {
      send(event) {
        sizes.push(JSON.stringify(event).length);
        sink.send(event);
      },
      close: () => sink.close(),
    };
    const chatty = agentOf((driver) => {
      for (const messageId of ["m1", "m2"]) {
        driver.emit({ type: "reasoning.start", messageId });
        for (let index = 0; index < 50_000; index++)
          driver.emit({ type: "reasoning.delta", messageId, delta: `word ${index} ` });
        driver.emit({ type: "reasoning.end", messageId });
      }
      return FINISHED;
    });
    const host = await createHost({ agents: { chatty: chatty.agent }, telemetry: [sideband(spied)] });
    const { run } = host.run("chatty", "go");
    await run.result;
    await host.close();
    // One event for thousands of characters, not one a word.
    expect(sizes.length).toBeGreaterThan(5);
    expect(sizes.length).toBeLessThan(1_000);
    expect(problems[0]).toContain("could not be sent");
    expect(problems.at(-1)).toMatch(/^Sideband: \d+ events could not be sent before the end\.$/);
  });
});

it("a function takes batches, and again what it did not take", async () => {
  const batches: (readonly SidebandEvent[])[] = [];
  const sink = functionSink(
    async (batch) => {
      batches.push(batch);
      if (batches.length === 1) throw new Error("no broker");
    },
    { batchSize: 2, flushMs: 10, onProblem: () => undefined },
  );
  await using host = await startTestHost({
    script: delegating,
    agent: { permissions: "allow" },
    host: { telemetry: [sideband(sink)] },
  });
  await collect(await host.post("go"));
  await host.host.close();
  expect(batches[1]).toEqual(batches[0]);
  expect(named(batches.flat(), "trace.delegation")).toHaveLength(1);
});
