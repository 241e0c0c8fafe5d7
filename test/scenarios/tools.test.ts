import { describe, expect, it } from "vitest";
import { collect, customValue, type Frame, framesOf } from "../support/frames.js";
import { startTestHost, type TestHost } from "../support/host.js";
import { verify } from "../support/verify.js";

const resultsOf = (frames: readonly Frame[]) =>
  frames
    .filter(({ event }) => event.type === "TOOL_CALL_RESULT")
    .map(({ event }) => JSON.parse(String(event.content)));
const delegate = (objective: string) => ({
  tools: [{ name: "delegate_to_agent", input: { agent: "research", objective } }],
});
const id = "{{result.0.delegation_id}}";

describe.each(["modern", "legacy"] as const)("tools of the endpoint, MCP %s", (era) => {
  it("cases 005, 019: a call beyond its budget answers with a handle; the whole result comes later, once", async () => {
    const script = {
      turns: [
        [
          delegate("#say Thinking.\n#delay 300\n#say Found it."),
          { tools: [{ name: "task_status", input: { delegation_id: id } }] },
          { tools: [{ name: "task_result", input: { delegation_id: id, wait_seconds: 20 } }] },
          { tools: [{ name: "task_result", input: { delegation_id: id } }] },
          { say: "ok" },
        ],
      ],
    };
    await using host = await startTestHost({ script, era, host: { syncBudgetMs: 50 } });
    const frames = await collect(await host.post("go"));
    await verify(frames);
    const [first, status, result, again] = resultsOf(frames);
    expect(first).toMatchObject({
      status: "working",
      delegation_id: expect.stringMatching(/^del-/),
      agent: "research",
    });
    expect(status).toMatchObject({ status: "working", delegation_id: first.delegation_id });
    expect(result).toMatchObject({ status: "completed", delegation_id: first.delegation_id });
    expect(result.summary).toContain("Found it.");
    expect(again).toEqual(result);
    const finished = customValue(frames.find(({ event }) => event.name === "subagent.finished"));
    expect(finished.result).toEqual(result);
  });

  it("task_cancel stops the remote task", async () => {
    const script = {
      turns: [
        [
          delegate("#say Busy.\n#hang"),
          { tools: [{ name: "task_cancel", input: { delegation_id: id, reason: "not needed" } }] },
          { say: "ok" },
        ],
      ],
    };
    await using host = await startTestHost({ script, era, host: { syncBudgetMs: 100 } });
    const frames = await collect(await host.post("go"));
    await verify(frames);
    expect(resultsOf(frames)[1]).toMatchObject({ status: "cancelled", error: { code: "cancelled" } });
    expect((await host.remote.seen()).filter(({ method }) => /cancel/i.test(method))).toHaveLength(1);
  });

  it("a delegation that is still working when the run ends is cancelled with it", async () => {
    const script = { turns: [[delegate("#say Busy.\n#hang"), { say: "I do not wait." }]] };
    await using host = await startTestHost({ script, era, host: { syncBudgetMs: 100 } });
    const frames = await collect(await host.post("go"));
    await verify(frames);
    const names = frames.map(({ event }) => event.name ?? event.type);
    expect(names.indexOf("subagent.cancelled")).toBeGreaterThan(names.indexOf("TEXT_MESSAGE_END"));
    expect(names.at(-1)).toBe("RUN_FINISHED");
  });
});

describe.each(["modern", "legacy"] as const)(
  "a remote's question and the parent's own client, MCP %s",
  (era) => {
    const script = { turns: [[delegate("#input Which city?\n#say Booked."), { say: "ok" }]] };
    const answer = (host: TestHost, id: unknown, text: string) =>
      host.send(`/delegations/${id}/input`, { text });

    it("is not asked twice: the host's own client is left alone", async () => {
      await using host = await startTestHost({ script, era });
      const frames: Frame[] = [];
      for await (const frame of framesOf(await host.post("go"))) {
        frames.push(frame);
        if (frame.event.name === "subagent.input_required")
          expect((await answer(host, customValue(frame).delegationId, "Rome")).status).toBe(202);
      }
      await verify(frames);
      expect(resultsOf(frames)[0]).toMatchObject({ status: "completed" });
      expect(frames.filter(({ event }) => event.name === "approval.requested")).toEqual([]);
      expect((await host.remote.seen()).filter(({ method }) => /send/i.test(method))).toHaveLength(2);
    });

    it("with the option on, the program shows a form, and its answer reaches the remote on the same task", async () => {
      await using host = await startTestHost({ script, era, host: { elicitation: true } });
      const frames: Frame[] = [];
      for await (const frame of framesOf(await host.post("go"))) {
        frames.push(frame);
        if (frame.event.name !== "approval.requested") continue;
        const { approvalId } = customValue(frame);
        const decision = { decision: "approve", input: { answer: "Rome" } };
        expect((await host.send(`/approvals/${approvalId}`, decision)).status).toBe(202);
      }
      await verify(frames);
      expect(resultsOf(frames)[0]).toMatchObject({ status: "completed" });
      const resolved = frames.find(({ event }) => event.name === "subagent.input_resolved");
      expect(customValue(resolved)).toMatchObject({ by: "person" });
      const sent = (await host.remote.seen()).filter(({ method }) => /send/i.test(method));
      expect(sent).toHaveLength(2);
      expect(JSON.stringify(sent[1]?.params)).toContain("Rome");
    });
  },
);

describe("tools of the endpoint", () => {
  it("S2: each skill is a tool of its own, and the remote learns which was called", async () => {
    const script = {
      turns: [
        [{ tools: [{ name: "research__research", input: { message: "#say By skill." } }] }, { say: "ok" }],
      ],
    };
    await using host = await startTestHost({ script, host: { toolset: "skills" } });
    const frames = await collect(await host.post("go"));
    await verify(frames);
    expect(resultsOf(frames)[0]).toMatchObject({ status: "completed", summary: "By skill." });
    const sent = (await host.remote.seen()).find(({ method }) => /send/i.test(method));
    expect(sent?.params).toMatchObject({ message: { metadata: { skillId: "research" } } });
  });

  it("a named shortcut has a fixed agent and refuses anything else", async () => {
    const name = "delegate_to_research_agent";
    const script = {
      turns: [
        [
          { tools: [{ name, input: { message: "#say Short." } }] },
          { tools: [{ name, input: { message: "x", agent: "other" } }] },
          { say: "ok" },
        ],
      ],
    };
    await using host = await startTestHost({ script, host: { shortcuts: ["research"] } });
    const [first, second] = resultsOf(await collect(await host.post("go")));
    expect(first).toMatchObject({ status: "completed", summary: "Short." });
    expect(second).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
  });

  it("a run sees only its own delegations", async () => {
    const script = {
      turns: [[{ tools: [{ name: "task_result", input: { delegation_id: "{{prompt}}" } }] }, { say: "ok" }]],
    };
    await using other = await startTestHost();
    const theirs = customValue(
      (await collect(await other.post("#say hi"))).find(({ event }) => event.name === "subagent.started"),
    );
    await using host = await startTestHost({ script });
    const [result] = resultsOf(await collect(await host.post(String(theirs.delegationId))));
    expect(result).toMatchObject({ status: "failed", error: { code: "result_expired" } });
  });

  it("arguments that are wrong are refused with what is allowed", async () => {
    const script = {
      turns: [
        [
          { tools: [{ name: "task_reply", input: { delegation_id: "del-1" } }] },
          { tools: [{ name: "task_status", input: {} }] },
          {
            tools: [
              {
                name: "delegate_to_agent",
                input: { agent: "research", objective: "x", endpoint_url: "http://evil" },
              },
            ],
          },
          { say: "ok" },
        ],
      ],
    };
    await using host = await startTestHost({ script });
    const results = resultsOf(await collect(await host.post("go")));
    expect(results.map(({ error }) => error.code)).toEqual([
      "invalid_input",
      "invalid_input",
      "invalid_input",
    ]);
    expect(results[2].error.message).toContain("endpoint_url");
  });
});
