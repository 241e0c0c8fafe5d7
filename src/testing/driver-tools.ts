import assert from "node:assert/strict";
import { systemClock } from "../core/clock.js";
import type { RunEvent } from "../core/run-event.js";
import { type Correlation, Correlator } from "../delegation/correlation.js";
import type { ToolServerTool } from "./claude/tool-server.js";
import type { DriverKit } from "./driver-kit.js";
import type { AddCheck } from "./driver-stage.js";
import { answeringTool, checkGrammar, stageRun } from "./driver-stage.js";

/** How long a call waits for its counterpart on the other channel, in milliseconds. */
const GRACE_MS = 10_000;

/** Tools of MCP servers: calls, results, and how each side finds the other. */
export function toolChecks(kit: DriverKit, add: AddCheck): void {
  add("an MCP tool is called, and its result is shown and goes to the model", async (stage) => {
    const { server, mcpServers } = await stage.tools({ look: answeringTool("all-is-well") });
    const input = { at: 1, deep: { list: ["a", 2, null] } };
    const steps = [{ tools: [{ name: "look", input }] }, { say: "It says {{result.0}}" }];
    const { run, events } = stageRun(await stage.play(steps, { mcpServers }));
    assert.match((await run.result).text, /all-is-well/);
    checkGrammar(events);
    assert.deepEqual(
      server.calls.map((call) => [call.tool, call.input]),
      [["look", input]],
    );
    const start = events.find((event) => event.type === "tool.start");
    assert.ok(start?.type === "tool.start");
    assert.deepEqual([start.server, start.tool], ["a2a-subagents", "look"]);
    const own = ofCall(events, start.toolCallId);
    const args = own.flatMap((event) => (event.type === "tool.args" ? event.delta : [])).join("");
    assert.deepEqual(JSON.parse(args), input);
    const result = own.at(-1);
    assert.ok(result?.type === "tool.result" && !result.isError && result.synthetic === undefined);
    assert.match(result.content, /all-is-well/);
  });

  add("an error of a tool is an error here, and the run goes on", async (stage) => {
    const failing: ToolServerTool = {
      call: () => ({ isError: true, content: [{ type: "text", text: "it-is-down" }] }),
    };
    const { mcpServers } = await stage.tools({ look: failing });
    const steps = [{ tools: [{ name: "look" }] }, { say: "It says {{result.0}}" }];
    const { run, events } = stageRun(await stage.play(steps, { mcpServers }));
    assert.match((await run.result).text, /it-is-down/);
    const result = events.find((event) => event.type === "tool.result");
    assert.ok(result?.type === "tool.result" && result.isError);
    assert.match(result.content, /it-is-down/);
    checkGrammar(events);
  });

  add("each of two calls is found on the side of the server", async (stage) => {
    const correlator = new Correlator(systemClock, GRACE_MS);
    const found: [unknown, Correlation][] = [];
    const { mcpServers } = await stage.tools({
      look: {
        readOnly: true,
        call: async (input, context) => {
          const id = kit.callIdKey === undefined ? undefined : context.mcpReq._meta?.[kit.callIdKey];
          const call = { tool: "look", input, ...(typeof id === "string" && { callId: id }) };
          found.push([input, await correlator.correlate(call, () => {})]);
          return { content: [{ type: "text", text: "seen" }] };
        },
      },
    });
    const tools = ["one", "two"].map((at) => ({ name: "look", id: `call_${at}`, input: { at } }));
    const { run, events } = stageRun(
      await stage.play([{ tools }, { say: "Done" }], { mcpServers }),
      "Hello",
      {
        watch: (event) => correlator.observe(event),
      },
    );
    await run.result;
    correlator.close();
    checkGrammar(events);
    assert.equal(found.length, 2);
    for (const [input, { level, toolCallId = "" }] of found) {
      assert.equal(level, kit.callIdKey === undefined ? "medium" : "strong");
      const args = ofCall(events, toolCallId).flatMap((event) =>
        event.type === "tool.args" ? event.delta : [],
      );
      assert.deepEqual(JSON.parse(args.join("")), input);
    }
    assert.equal(new Set(found.map(([, { toolCallId }]) => toolCallId)).size, 2);
  });

  add("a trusted server's tool runs without asking; another one's is asked for", async (stage) => {
    const steps = [{ tools: [{ name: "look" }] }, { say: "It says {{result.0}}" }];
    for (const trusted of [true, false]) {
      const { server, mcpServers } = await stage.tools({ look: answeringTool("seen") }, { trusted });
      const agent = await stage.play(steps, { mcpServers });
      const staged = stageRun(agent);
      if (trusted || !agent.driver.describe().capabilities.approvals) {
        await staged.run.result;
        assert.ok(staged.events.every(({ type }) => type !== "approval.requested"));
      } else {
        const event = await staged.seen(({ type }) => type === "approval.requested");
        assert.ok(event.type === "approval.requested");
        assert.match(event.approval.tool ?? "", /look/);
        assert.equal(server.calls.length, 0, "it ran before it was allowed");
        staged.run.decide(event.approval.approvalId, { decision: "approve" });
        await staged.run.result;
      }
      assert.equal(server.calls.length, 1);
      checkGrammar(staged.events);
    }
  });
}

function ofCall(events: readonly RunEvent[], toolCallId: string): RunEvent[] {
  return events.filter((event) => "toolCallId" in event && event.toolCallId === toolCallId);
}
