import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import {
  collect,
  customValue,
  type Frame,
  framesOf,
  nameOf,
  subagentFrames,
  subagentText,
} from "../support/frames.js";
import { startTestHost, type TestHost } from "../support/host.js";
import { verify } from "../support/verify.js";

const terminals = (frames: readonly Frame[]) =>
  frames.filter(({ event }) => /^subagent\.(finished|failed|cancelled)$/.test(event.name ?? ""));
const resultsOf = (frames: readonly Frame[]) =>
  frames
    .filter(({ event }) => event.type === "TOOL_CALL_RESULT")
    .map(({ event }) => JSON.parse(String(event.content)));

/** Delegates each of `objectives` in one message, then repeats what the model got. */
const script = (...objectives: string[]) => ({
  turns: [
    [
      {
        tools: objectives.map((objective, index) => ({
          name: "delegate_to_agent",
          id: `toolu_${index + 1}`,
          input: { agent: "research", objective },
        })),
      },
      { say: "Continuing.", chunks: ["Continuing."] },
    ],
  ],
});

async function cancelCalls(host: TestHost) {
  return (await host.remote.seen()).filter(({ method }) => /cancel/i.test(method));
}

describe.each(["modern", "legacy"] as const)("S1 section 19, MCP %s", (era) => {
  it("scenario 1: a remote streams text and an artifact; case 009: by the stream, not by MCP progress", async () => {
    await using host = await startTestHost({
      script: script("#say One. \n#say Two.\n#artifact report.md 3000"),
      era,
    });
    const frames = await collect(await host.post("go"));
    await verify(frames);
    const names = frames.map(nameOf);
    const order = [
      "TOOL_CALL_START",
      "CUSTOM(subagent.started)",
      "CUSTOM(subagent.text.delta)",
      "CUSTOM(subagent.artifact)",
      "CUSTOM(subagent.finished)",
      "TOOL_CALL_RESULT",
      "TEXT_MESSAGE_CONTENT",
      "RUN_FINISHED",
    ];
    expect(order.map((name) => names.indexOf(name))).toEqual(
      [...order.keys()].map((index) => names.indexOf(order[index] ?? "")).sort((a, b) => a - b),
    );
    const { artifact } = customValue(frames.find(({ event }) => event.name === "subagent.artifact")) as {
      artifact: Record<string, unknown>;
    };
    expect(artifact).toMatchObject({
      name: "report.md",
      mimeType: "text/markdown",
      size: 3000,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(String(artifact.preview).length).toBeLessThanOrEqual(2_048);
    const finished = customValue(terminals(frames)[0]);
    expect(finished.remoteTaskId).toEqual(expect.any(String));
    const [result] = resultsOf(frames);
    expect(result).toEqual(finished.result);
    expect(result).toMatchObject({
      agent: "research",
      status: "completed",
      remote_task_id: finished.remoteTaskId,
      remote_protocol: "a2a",
    });
    expect(result.artifacts[0].uri).toBe(`host://delegations/${result.delegation_id}/artifacts/report.md`);
    const bytes = await host.get(`/delegations/${result.delegation_id}/artifacts/report.md`);
    expect((await bytes.arrayBuffer()).byteLength).toBe(3000);
    expect(bytes.headers.get("content-disposition")).toContain("attachment");
    expect(bytes.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("scenario 3: cancelling the run cancels the remote task, case 034: and it is told as a cancel", async () => {
    await using host = await startTestHost({
      script: script("#say Working on it.\n#hang"),
      era,
      remote: { tenant: "acme" },
    });
    const frames: Frame[] = [];
    for await (const frame of framesOf(await host.post("go"))) {
      frames.push(frame);
      if (frame.event.name === "subagent.text.delta")
        expect((await host.send("/runs/run-1/cancel", { reason: "changed my mind" })).status).toBe(202);
    }
    await verify(frames);
    const [cancelled] = terminals(frames);
    expect(terminals(frames)).toHaveLength(1);
    expect(cancelled?.event.name).toBe("subagent.cancelled");
    expect(customValue(cancelled)).toMatchObject({ confirmed: true, reason: "changed my mind" });
    const last = frames.at(-1)?.event;
    expect(last).toMatchObject({
      type: "RUN_FINISHED",
      result: { status: "cancelled", reason: "changed my mind" },
    });
    expect(last).not.toHaveProperty("outcome");
    const calls = await cancelCalls(host);
    expect(calls).toHaveLength(1);
    expect(calls[0]?.params).toMatchObject({
      id: customValue(cancelled).remoteTaskId,
      tenant: "acme",
      metadata: { delegationId: customValue(cancelled).delegationId, reason: "changed my mind" },
    });
  });

  it("scenario 4: a remote failure is visible and structured", async () => {
    await using host = await startTestHost({ script: script("#say Trying.\n#fail the source is gone"), era });
    const frames = await collect(await host.post("go"));
    await verify(frames);
    const failed = terminals(frames)[0];
    expect(failed?.event.name).toBe("subagent.failed");
    expect(customValue(failed).error).toMatchObject({
      code: "remote_failed",
      retryable: false,
      remoteStatus: "failed",
    });
    const [result] = resultsOf(frames);
    expect(result).toMatchObject({
      status: "failed",
      error: { code: "remote_failed", remote_status: "failed" },
    });
    expect(result.error.message).toContain("the source is gone");
    expect(frames.at(-1)?.event.type).toBe("RUN_FINISHED");
  });

  it("scenario 6: two delegations stream at once, each under its own call; cases 087, 096", async () => {
    await using host = await startTestHost({
      script: script(
        "#delay 30\n#chunks 5\n#delay 30\n#say first",
        "#delay 30\n#chunks 5\n#delay 30\n#say second",
      ),
      era,
    });
    const frames = await collect(await host.post("go"));
    await verify(frames);
    const byCall = groupByCall(frames);
    expect([...byCall.keys()].sort()).toEqual(["toolu_1", "toolu_2"]);
    for (const [call, own] of byCall) {
      expect(new Set(own.map((frame) => customValue(frame).delegationId)).size).toBe(1);
      expect(terminals(own)).toHaveLength(1);
      expect(subagentText(own)).toContain(call === "toolu_1" ? "first" : "second");
    }
    // Side by side: the second starts before the first is over.
    const names = subagentFrames(frames).map(({ event }) => event.name);
    expect(names.lastIndexOf("subagent.started")).toBeLessThan(names.indexOf("subagent.finished"));
    const ids = resultsOf(frames).map(({ delegation_id }) => delegation_id);
    expect(new Set(ids).size).toBe(2);
  });

  it("scenario 8: an unregistered agent is refused without any request", async () => {
    const unknown = {
      turns: [
        [
          { tools: [{ name: "delegate_to_agent", input: { agent: "unknown", objective: "x" } }] },
          { say: "ok" },
        ],
      ],
    };
    await using host = await startTestHost({ script: unknown, era, remote: { token: "secret-token-value" } });
    const before = (await host.remote.seen()).length;
    const frames = await collect(await host.post("go"));
    await verify(frames);
    expect(resultsOf(frames)[0]).toMatchObject({
      status: "failed",
      error: { code: "agent_not_found", retryable: false },
    });
    expect((await host.remote.seen()).length).toBe(before);
    expect(subagentFrames(frames)).toEqual([]);
    expect(JSON.stringify([frames, host.trace()])).not.toContain("secret-token-value");
  });
});

function groupByCall(frames: readonly Frame[]): Map<unknown, Frame[]> {
  const groups = new Map<unknown, Frame[]>();
  for (const frame of subagentFrames(frames)) {
    const call = customValue(frame).parentToolCallId;
    groups.set(call, [...(groups.get(call) ?? []), frame]);
  }
  return groups;
}

describe("more ends of a delegation", () => {
  it("case 108: a rejected task is an error", async () => {
    await using host = await startTestHost({ script: script("#reject not my field") });
    const [result] = resultsOf(await collect(await host.post("go")));
    expect(result).toMatchObject({ status: "failed", error: { code: "remote_rejected", retryable: false } });
  });

  it("a bare message is a completed delegation without a task", async () => {
    await using host = await startTestHost({ script: script("#message Forty-two.") });
    const frames = await collect(await host.post("go"));
    await verify(frames);
    expect(resultsOf(frames)[0]).toMatchObject({
      status: "completed",
      summary: "Forty-two.",
      remote_task_id: null,
    });
    expect(subagentText(frames)).toBe("Forty-two.");
  });

  it("cases 102, 106: the host's own deadline ends it, and cancels the remote", async () => {
    const timed = {
      turns: [
        [
          {
            tools: [
              {
                name: "delegate_to_agent",
                input: {
                  agent: "research",
                  objective: "#say Hm.\n#hang",
                  constraints: { timeout_seconds: 0.3 },
                },
              },
            ],
          },
          { say: "ok" },
        ],
      ],
    };
    await using host = await startTestHost({ script: timed });
    const frames = await collect(await host.post("go"));
    await verify(frames);
    expect(terminals(frames).map(({ event }) => event.name)).toEqual(["subagent.failed"]);
    expect(resultsOf(frames)[0]).toMatchObject({
      status: "failed",
      summary: "Hm.",
      error: { code: "remote_timeout", retryable: true },
    });
    expect(await cancelCalls(host)).toHaveLength(1);
  });

  it("case 032: a remote that asks for input is stopped and the model is told what it asked", async () => {
    await using host = await startTestHost({
      script: script("#input Which year?"),
      policy: { inputRequired: "fail" },
    });
    const frames = await collect(await host.post("go"));
    await verify(frames);
    expect(resultsOf(frames)[0]).toMatchObject({
      status: "failed",
      error: { code: "input_required", message: "Which year?" },
    });
    expect(await cancelCalls(host)).toHaveLength(1);
  });

  it("stopping one delegation leaves the run going", async () => {
    await using host = await startTestHost({ script: script("#say Busy.\n#hang") });
    const frames: Frame[] = [];
    for await (const frame of framesOf(await host.post("go"))) {
      frames.push(frame);
      if (frame.event.name === "subagent.text.delta")
        await host.send(`/delegations/${customValue(frame).delegationId}/cancel`);
    }
    await verify(frames);
    expect(resultsOf(frames)[0]).toMatchObject({ status: "cancelled", error: { code: "cancelled" } });
    expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", result: { status: "finished" } });
  });

  it("a cancel that is not confirmed is told as pending, and the run still ends", async () => {
    await using host = await startTestHost({
      script: script("#say Busy.\n#stubborn"),
      policy: { cancelTimeoutMs: 200 },
    });
    const frames: Frame[] = [];
    for await (const frame of framesOf(await host.post("go"))) {
      frames.push(frame);
      if (frame.event.name === "subagent.text.delta") await host.send("/runs/run-1/cancel");
    }
    await verify(frames);
    const statuses = frames
      .filter(({ event }) => event.name === "subagent.status")
      .map((frame) => customValue(frame).status);
    expect(statuses).toContain("cancel_pending");
    expect(customValue(terminals(frames)[0])).toMatchObject({ confirmed: false });
    expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", result: { status: "cancelled" } });
  });

  it("cases 011, 024, 028: the parent's death cancels the remote", async () => {
    const dies = {
      turns: [
        [
          {
            tools: [
              { name: "delegate_to_agent", input: { agent: "research", objective: "#say Busy.\n#hang" } },
            ],
          },
        ],
      ],
    };
    await using host = await startTestHost({ script: dies });
    const frames: Frame[] = [];
    for await (const frame of framesOf(await host.post("go"))) {
      frames.push(frame);
      if (frame.event.name === "subagent.text.delta")
        process.kill(Number(host.trace().find((line) => "pid" in line)?.pid), "SIGKILL");
    }
    await verify(frames);
    expect(terminals(frames).map(({ event }) => event.name)).toEqual(["subagent.cancelled"]);
    expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_ERROR", code: "program_died" });
    expect(await cancelCalls(host)).toHaveLength(1);
  });

  it("too many at once are refused as busy, and the permits come back", async () => {
    await using host = await startTestHost({
      script: script("#delay 100\n#say a", "#say b"),
      policy: { maxConcurrentPerRun: 1 },
    });
    const results = resultsOf(await collect(await host.post("go")));
    expect(results.map(({ status }) => status).sort()).toEqual(["completed", "failed"]);
    expect(results.find(({ status }) => status === "failed")?.error).toMatchObject({
      code: "agent_busy",
      retryable: true,
    });
    const again = resultsOf(await collect(await host.post("go", { runId: "run-2" })));
    expect(again.map(({ status }) => status).sort()).toEqual(["completed", "failed"]);
  });

  it("case 017: an objective of a megabyte arrives whole", async () => {
    const long = {
      turns: [
        [
          {
            tools: [
              {
                name: "delegate_to_agent",
                input: { agent: "research", objective: `${"x".repeat(1_000_000)}\n#say ok` },
              },
            ],
          },
          { say: "ok" },
        ],
      ],
    };
    await using host = await startTestHost({
      env: { TROUPE_SCRIPT: "" },
      script: {
        turns: [
          [
            { tools: [{ name: "delegate_to_agent", input: { agent: "research", objective: "{{prompt}}" } }] },
            { say: "ok" },
          ],
        ],
      },
    });
    const objective = long.turns[0]?.[0];
    const prompt =
      objective !== undefined && "tools" in objective ? String(objective.tools?.[0]?.input.objective) : "";
    const frames = await collect(await host.post(prompt));
    expect(resultsOf(frames)[0]).toMatchObject({ status: "completed" });
    const sent = (await host.remote.seen()).find(({ method }) => /send/i.test(method));
    expect(JSON.stringify(sent?.params).length).toBeGreaterThan(1_000_000);
  });
});

describe("stopping by hand", () => {
  it("a POST without any body and length stops the run, as `curl -X POST` sends it", async () => {
    await using host = await startTestHost({ script: script("#say Busy.\n#hang") });
    const frames: Frame[] = [];
    for await (const frame of framesOf(await host.post("go"))) {
      frames.push(frame);
      if (frame.event.name === "subagent.text.delta") {
        expect(await bareStatus(`${host.url}/runs/run-1/cancel`)).toBe(202);
      }
    }
    expect(terminals(frames).map(({ event }) => event.name)).toEqual(["subagent.cancelled"]);
  });
});

/** The status of a POST that has neither body nor length. */
async function bareStatus(url: string): Promise<number | undefined> {
  const request = httpRequest(url, { method: "POST" });
  request.removeHeader("content-length");
  request.useChunkedEncodingByDefault = false;
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

describe("looking at a delegation later", () => {
  it("its route tells who asked, what came of it, and every state with its time", async () => {
    await using host = await startTestHost({ script: script("#say Busy.\n#artifact notes.md 40") });
    const frames = await collect(await host.post("go"));
    const finished = customValue(terminals(frames)[0]);
    const shown = await (await host.get(`/delegations/${finished.delegationId}`)).json();
    expect(shown).toMatchObject({
      runId: "run-1",
      threadId: "thread-1",
      parentToolCallId: "toolu_1",
      correlation: "strong",
      status: "completed",
      cardFingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      result: finished.result,
    });
    const own = subagentFrames(frames).filter(({ event }) => event.name !== "subagent.text.delta");
    expect(shown.history.map(({ type }: { type: string }) => type)).toEqual(
      own.map(({ event }) => event.name),
    );
    expect(shown.history.map(({ time }: { time: number }) => time)).toEqual(
      own.map(({ event }) => event.timestamp),
    );
    const { delegations } = await (await host.get("/runs/run-1/delegations")).json();
    expect(delegations).toHaveLength(1);
    expect((await host.get("/delegations/del-nobody")).status).toBe(404);
  });
});
