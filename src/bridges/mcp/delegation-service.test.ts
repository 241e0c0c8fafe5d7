import { describe, expect, it } from "vitest";
import { DelegationBench } from "../../../test/support/delegations.js";
import { FakeRemote } from "../../../test/support/fake-remote.js";
import { connectTo } from "../../../test/support/mcp-bench.js";
import { createToken } from "../../core/ids.js";
import { RemoteRegistry } from "../../delegation/registry.js";
import { MCP_SERVER_NAME } from "../../delegation/server-name.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { createDelegateTool } from "./delegate-tool.js";
import { createDelegationService } from "./delegation-service.js";
import { McpEndpoint } from "./endpoint.js";

async function setup() {
  const bench = new DelegationBench({ maxTimeoutMs: 60_000 });
  const endpoint = new McpEndpoint({ clock: bench.clock, instructions: "", version: "1" });
  const { delegator, registry } = bench;
  const service = createDelegationService({
    delegator,
    registry,
    endpoint,
    url: "http://127.0.0.1:4000/mcp",
  });
  const token = createToken();
  const attachment = await service.attach({
    runId: "run-1",
    token,
    agent: "claude",
    thread: "/t",
    workspace: "/",
  });
  return { bench, endpoint, token, attachment };
}
const call = (args: Record<string, unknown>, callId?: string) => ({
  name: "delegate_to_agent",
  arguments: args,
  ...(callId === undefined ? {} : { _meta: { "claudecode/toolUseId": callId } }),
});

describe("the delegation service", () => {
  it("gives the run a server of its own, whose limit is beyond the longest delegation", async () => {
    const { attachment, token } = await setup();
    expect(attachment.mcpServers).toEqual([
      {
        name: MCP_SERVER_NAME,
        transport: "http",
        url: "http://127.0.0.1:4000/mcp",
        headers: { Authorization: `Bearer ${token}` },
        timeoutMs: 120_000,
        trusted: true,
        parallel: true,
      },
    ]);
    expect(attachment).not.toHaveProperty("env");
  });

  it.each(["modern", "legacy"] as const)(
    "%s: a call that is sent again with the same call id joins; scenario 6: what was never started is told",
    async (era) => {
      const { bench, endpoint, token } = await setup();
      const client = await connectTo(endpoint, era, token);
      const again = await connectTo(endpoint, era, token);
      const args = { agent: "research", objective: "Find out" };
      const both = [client.callTool(call(args, "toolu_1")), again.callTool(call(args, "toolu_1"))];
      while (bench.remote.tasks.length === 0) await bench.clock.advance(0);
      await bench.clock.advance(0);
      bench.task.send({ type: "accepted", taskId: "task-1" }, { type: "completed", message: "42" });
      const [first, second] = await Promise.all(both);
      expect(first?.structuredContent).toMatchObject({ status: "completed", summary: "42" });
      expect(second?.structuredContent).toEqual(first?.structuredContent);
      expect(bench.remote.tasks).toHaveLength(1);
      for (const [bad, code] of [
        [{ agent: "unknown", objective: "x" }, "agent_not_found"],
        [{ ...args, endpoint_url: "http://evil" }, "invalid_input"],
        [{ objective: "x" }, "invalid_input"],
      ] as const) {
        const refused = await client.callTool(call(bad));
        expect(refused).toMatchObject({
          isError: true,
          structuredContent: { status: "failed", error: { code } },
        });
        expect(refused.content).toEqual([{ type: "text", text: JSON.stringify(refused.structuredContent) }]);
      }
      expect(bench.remote.tasks).toHaveLength(1);
    },
  );

  it("what goes wrong inside the host tells the model nothing of it", async () => {
    const { bench, endpoint, token } = await setup();
    bench.remote.onDescribe = () => Promise.reject(new Error("/srv/secrets/token: EACCES"));
    const client = await connectTo(endpoint, "legacy", token);
    const answer = await client.callTool(call({ agent: "research", objective: "x" }));
    expect(answer.structuredContent).toMatchObject({ error: { code: "internal" } });
    expect(JSON.stringify(answer)).not.toContain("/srv");
  });

  it("case 024: the run's end revokes the token, cancels the remote and answers the open call, in that order", async () => {
    const { bench, endpoint, token, attachment } = await setup();
    const client = await connectTo(endpoint, "modern", token);
    const calling = client.callTool(call({ agent: "research", objective: "x" }));
    while (bench.remote.tasks.length === 0) await bench.clock.advance(0);
    bench.task.send({ type: "accepted", taskId: "task-1" });
    await bench.clock.advance(0);
    const detaching = attachment.detach("cancelled");
    await expect(connectTo(endpoint, "legacy", token)).rejects.toThrow();
    expect(await calling).toMatchObject({ isError: true, structuredContent: { status: "cancelled" } });
    await detaching;
    expect(bench.remote.cancels).toHaveLength(1);
    expect(bench.left).toEqual({ timers: 0, permits: 0 });
  });
});

describe("the tool's description", () => {
  it("lists each agent with its skills, capped and on one line, and tells who cannot be reached", async () => {
    const talkative = new FakeRemote("talkative");
    talkative.onDescribe = async () => ({
      name: "T",
      description: `Does\n\n- agents: everything. ${"x".repeat(5_000)}`,
      skills: [{ id: "s", name: "Skill", description: "what" }],
      streaming: true,
    });
    const gone = new FakeRemote("gone");
    gone.onDescribe = () => Promise.reject(new Error("no"));
    const registry = new RemoteRegistry(
      [new FakeRemote(), talkative, gone].map((remote) => ({ remote })),
      new ManualClock(),
    );
    const tool = createDelegateTool(registry);
    await registry.probe(1_000);
    const lines = tool()
      .description.split("\n")
      .filter((line) => line.startsWith("- "));
    expect(lines).toHaveLength(3);
    expect(lines[0]).toBe("- research: Finds things out.");
    expect(lines[1]?.length).toBeLessThan(640);
    expect(lines[2]).toBe("- gone (not reachable at the moment)");
    expect(tool().inputSchema).toMatchObject({
      properties: { agent: { enum: ["research", "talkative", "gone"] } },
    });
    // Schemas are cached by identity.
    expect(tool().inputSchema).toBe(tool().inputSchema);
  });

  it("one agent that must not run side by side takes the hint away", () => {
    const hint = (parallel: boolean) =>
      createDelegateTool(
        new RemoteRegistry(
          [{ remote: new FakeRemote("a") }, { remote: new FakeRemote("b"), policy: { parallel } }],
          new ManualClock(),
        ),
      )().annotations.readOnlyHint;
    expect([hint(true), hint(false)]).toEqual([true, false]);
  });
});
