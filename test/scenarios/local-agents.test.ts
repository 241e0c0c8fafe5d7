import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.js";
import { local } from "../../src/remotes/local/local.js";
import type { Script } from "../../src/testing/claude/script.js";
import { byHeader } from "../support/app-bench.js";
import { agentOf, FINISHED, type Play, say, untilAborted } from "../support/fake-agent.js";
import { collect, customValue, type Frame, framesOf, subagentFrames } from "../support/frames.js";
import { startTestHost } from "../support/host.js";
import { verify } from "../support/verify.js";

const delegate = (id: string, agent: string, objective: string) => ({
  tools: [{ name: "delegate_to_agent", id, input: { agent, objective } }],
});
const script = (...turn: Script["turns"][number]): Script => ({ turns: [turn] });
const helperOf = (play: Play) => agentOf(play, { name: "Helper", clock: systemClock });
const named = (frames: readonly Frame[], name: string) =>
  customValue(frames.find(({ event }) => event.name === name));
const resultOf = (frames: readonly Frame[]) =>
  JSON.parse(String(frames.find(({ event }) => event.type === "TOOL_CALL_RESULT")?.event.content));

describe("an agent of the host as a sub-agent", () => {
  it("is shown live below the call, has a run and a thread of its own, and the model gets its last words", async () => {
    const { agent: helper, requests } = helperOf((sink) => {
      sink.emit({ type: "tool.start", toolCallId: "t", name: "Grep" });
      sink.emit({ type: "tool.end", toolCallId: "t" });
      sink.emit({ type: "tool.result", toolCallId: "t", content: "2 hits", isError: false });
      say(sink, "Two places.");
      return FINISHED;
    });
    await using host = await startTestHost({
      script: script(delegate("toolu_1", "helper", "Find it."), { say: "Done." }),
      host: { subAgents: [local({ name: "helper", agent: "helper", description: "Finds things." })] },
      agents: { helper },
    });
    const frames = await collect(await host.post("Go"));
    await verify(frames);
    expect(subagentFrames(frames).map(({ event }) => event.name)).toEqual([
      "subagent.started",
      "subagent.tool.start",
      "subagent.tool.end",
      "subagent.tool.result",
      "subagent.text.start",
      "subagent.text.delta",
      "subagent.text.end",
      "subagent.finished",
    ]);
    const identity = {
      agentKey: "helper",
      agentName: "Helper",
      protocol: "local",
      parentToolCallId: "toolu_1",
    };
    expect(named(frames, "subagent.started")).toMatchObject(identity);
    expect(requests[0]?.prompt).toContain("Find it.");
    expect(resultOf(frames)).toMatchObject({ status: "completed", summary: "Two places." });

    const { remoteContextId, remoteTaskId } = named(frames, "subagent.finished");
    const own: Frame[] = [];
    for await (const frame of framesOf(await host.get(`/threads/${remoteContextId}/events`))) {
      own.push(frame);
      if (frame.event.type === "RUN_FINISHED") break;
    }
    expect(own[0]?.event).toMatchObject({ type: "RUN_STARTED", runId: remoteTaskId });
  });

  it("an approval of it is asked as the delegation's question; the answer decides", async () => {
    const { agent: helper } = helperOf(async (sink, { signal }) => {
      const { decision } = await sink.approve({ kind: "permission", title: "Delete it?" }, signal);
      say(sink, `It was ${decision}.`);
      return FINISHED;
    });
    await using host = await startTestHost({
      script: script(delegate("toolu_1", "helper", "Clean up."), { say: "Done." }),
      host: { subAgents: [local({ name: "helper", agent: "helper" })] },
      agents: { helper },
    });
    const frames: Frame[] = [];
    for await (const frame of framesOf(await host.post("Go"))) {
      frames.push(frame);
      if (frame.event.name !== "subagent.input_required") continue;
      const { delegationId, schema } = customValue(frame);
      expect(schema).toMatchObject({ required: ["approved"] });
      const answered = await host.send(`/delegations/${delegationId}/input`, { data: { approved: true } });
      expect(answered.status).toBe(202);
    }
    await verify(frames);
    expect(resultOf(frames)).toMatchObject({ summary: "It was approve." });
  });

  it("stopping the run stops it as well, and that is confirmed", async () => {
    let stopped = false;
    const { agent: helper } = helperOf(async (sink, request) => {
      say(sink, "Working.");
      await untilAborted(request);
      stopped = true;
      return { status: "cancelled" };
    });
    await using host = await startTestHost({
      script: script(delegate("toolu_1", "helper", "Take your time."), { say: "Done." }),
      host: { subAgents: [local({ name: "helper", agent: "helper" })] },
      agents: { helper },
    });
    const frames: Frame[] = [];
    for await (const frame of framesOf(await host.post("Go"))) {
      frames.push(frame);
      if (frame.event.name === "subagent.text.delta")
        await host.send("/runs/run-1/cancel", { reason: "enough" });
    }
    expect(stopped).toBe(true);
    expect(named(frames, "subagent.cancelled")).toMatchObject({ confirmed: true });
  });

  it("one that delegates to itself is stopped by the guard against circles, not by the depth of the stack", async () => {
    await using host = await startTestHost({
      script: script(delegate("toolu_1", "self", "Do it for me."), { say: "Gave it away." }),
      host: { subAgents: [local({ name: "self", agent: "claude" })] },
    });
    const frames = await collect(await host.post("Go"));
    await verify(frames);
    expect(resultOf(frames)).toMatchObject({ status: "completed", summary: "Gave it away." });
    // The second one was refused: three runs would have been too many.
    const inner = subagentFrames(frames).filter(({ event }) => event.name === "subagent.tool.result");
    expect(inner).toHaveLength(1);
    expect(JSON.parse(String(customValue(inner[0]).content))).toMatchObject({
      status: "failed",
      error: { code: "policy_denied", message: expect.stringContaining("circle") },
    });
    expect(host.trace().filter(({ result }) => result !== undefined).length).toBeLessThanOrEqual(2);
  });

  it("chains end at the depth that the policy allows", async () => {
    await using host = await startTestHost({
      script: script(delegate("toolu_1", "self", "Do it for me."), { say: "Gave it away." }),
      policy: { maxDepth: 1 },
      host: { subAgents: [local({ name: "self", agent: "claude" })] },
    });
    const frames = await collect(await host.post("Go"));
    const inner = subagentFrames(frames).find(({ event }) => event.name === "subagent.tool.result");
    expect(JSON.parse(String(customValue(inner).content))).toMatchObject({
      error: { code: "policy_denied", message: expect.stringContaining("the host allows 1") },
    });
  });

  it("a conversation that is shared by policy is gone on with in the same thread", async () => {
    const { agent: helper, requests } = helperOf((sink) => {
      say(sink, "Yes.");
      return FINISHED;
    });
    await using host = await startTestHost({
      script: script(delegate("toolu_1", "helper", "One."), delegate("toolu_2", "helper", "Two."), {
        say: "Done.",
      }),
      policy: { context: "sticky_per_run_agent" },
      host: { subAgents: [local({ name: "helper", agent: "helper" })] },
      agents: { helper },
    });
    const frames = await collect(await host.post("Go"));
    const contexts = subagentFrames(frames)
      .filter(({ event }) => event.name === "subagent.finished")
      .map((frame) => customValue(frame).remoteContextId);
    expect(contexts).toHaveLength(2);
    expect(contexts[0]).toBe(contexts[1]);
    expect(requests).toHaveLength(2);
  });

  it("its thread belongs to the tenant of who asked: for others it does not exist", async () => {
    const { agent: helper } = helperOf((sink) => {
      say(sink, "Yes.");
      return FINISHED;
    });
    await using host = await startTestHost({
      script: script(delegate("toolu_1", "helper", "Go."), { say: "Done." }),
      host: { authorise: byHeader, subAgents: [local({ name: "helper", agent: "helper" })] },
      agents: { helper },
    });
    const as = (tenant: string) => ({ authorization: `tenant ${tenant}` });
    const frames = await collect(await host.post("Go", { headers: as("acme") }));
    const { remoteTaskId } = named(frames, "subagent.finished");
    expect((await host.get(`/runs/${remoteTaskId}`, as("acme"))).status).toBe(200);
    expect((await host.get(`/runs/${remoteTaskId}`, as("globex"))).status).toBe(404);
  });

  it("an agent that the host does not have is unreachable, and says so", async () => {
    await using host = await startTestHost({
      host: { subAgents: [local({ name: "ghost", agent: "nobody" })] },
    });
    const { subAgents } = await (await host.get("/agents")).json();
    expect(subAgents).toMatchObject([{ key: "ghost", protocol: "local", status: "unreachable" }]);
  });
});
