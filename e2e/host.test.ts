import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { signalGroup, trackedGroups } from "../src/drivers/process/process-group.js";
import type { MessagesBlock, MessagesScript } from "../src/testing/messages/script.js";
import {
  collect,
  customValue,
  type Frame,
  framesOf,
  nameOf,
  subagentFrames,
  subagentText,
} from "../test/support/frames.js";
import { verify } from "../test/support/verify.js";
import { REMOTE_TOKEN, type RealHost, startRealHost } from "./real-host.js";

const DELEGATE = "mcp__a2a-subagents__delegate_to_agent";

afterEach(() => {
  expect(trackedGroups()).toEqual([]);
});

const text = (value: string): MessagesBlock => ({ type: "text", text: value });
const delegate = (id: string, objective: string): MessagesBlock => ({
  type: "tool_use",
  id,
  name: DELEGATE,
  input: { agent: "research", objective },
});

/** The model says this once, and then that it goes on. */
const once = (...content: MessagesBlock[]): MessagesScript => [{ content }, { content: [text("Going on.")] }];

const TERMINAL = /^subagent\.(finished|failed|cancelled)$/;

/** The frames of each delegation by the tool call that they are shown under. */
function byCall(frames: readonly Frame[]): Map<string, Frame[]> {
  const groups = new Map<string, Frame[]>();
  for (const frame of subagentFrames(frames)) {
    const call = String(customValue(frame).parentToolCallId);
    groups.set(call, [...(groups.get(call) ?? []), frame]);
  }
  return groups;
}

/**
 * What holds of every delegation, however it ends: it is known by the program's own id of the call, it is one, it starts after its
 * call and ends once, before the run does.
 * @returns the value of its terminal event.
 */
function expectOrdered(frames: readonly Frame[], call: string): Record<string, unknown> {
  const own = byCall(frames).get(call) ?? [];
  const at = (find: (frame: Frame) => boolean) => frames.findIndex(find);
  const start = at(({ event }) => event.type === "TOOL_CALL_START" && event.toolCallId === call);
  const started = at((frame) => frame === own[0]);
  const ended = at((frame) => frame === own.at(-1));
  const over = at(({ event }) => event.type === "RUN_FINISHED" || event.type === "RUN_ERROR");
  expect(own[0]?.event.name).toBe("subagent.started");
  expect(customValue(own[0])).toMatchObject({ correlation: "strong", runId: "run-1", agentKey: "research" });
  expect(new Set(own.map((frame) => customValue(frame).delegationId)).size).toBe(1);
  expect(own.filter(({ event }) => TERMINAL.test(event.name ?? ""))).toEqual([own.at(-1)]);
  expect(start).toBeGreaterThan(at(({ event }) => event.type === "RUN_STARTED"));
  expect(started).toBeGreaterThan(start);
  expect(ended).toBeGreaterThan(started);
  expect(over).toBeGreaterThan(ended);
  expect(over).toBe(frames.length - 1);
  return customValue(own.at(-1));
}

/** The place of the call's result among the frames. */
function resultAt(frames: readonly Frame[], call: string): number {
  return frames.findIndex(({ event }) => event.type === "TOOL_CALL_RESULT" && event.toolCallId === call);
}

/** Neither the run's own token nor the remote's credential went to the model or to a reader. */
function expectNoSecret(host: RealHost, frames: readonly Frame[]): void {
  const all = host.allSent() + JSON.stringify(frames);
  expect(host.tokens).toHaveLength(1);
  for (const secret of [...host.tokens, REMOTE_TOKEN]) expect(all).not.toContain(secret);
}

async function cancels(host: RealHost) {
  return (await host.remote.seen()).filter(({ method }) => /cancel/i.test(method));
}

/** Reads a run to its end, and does something when the remote has said its first words. */
async function onFirstWords(host: RealHost, act: (frame: Frame) => Promise<unknown>): Promise<Frame[]> {
  const frames: Frame[] = [];
  let acted = false;
  for await (const frame of framesOf(await host.post("Please delegate."))) {
    frames.push(frame);
    if (acted || frame.event.name !== "subagent.text.delta") continue;
    acted = true;
    await act(frame);
  }
  return frames;
}

describe.each([{ legacy: false }, { legacy: true }])("MCP legacy: $legacy", ({ legacy }) => {
  test("cases 091, 100, 112: a delegation is watched in full; the model gets the small result and nothing else", async () => {
    const objective =
      "#status Leafing through the archive\n#chunks 900\n#artifact notes.md 3000\n#status Tidying up";
    await using host = await startRealHost({
      script: once(text("I ask."), delegate("toolu_A", objective)),
      legacy,
    });
    const frames = await collect(await host.post("Please delegate."));
    await verify(frames);
    await verify(await collect(await host.post("Please delegate.", { query: "?subagents=native" })));

    const { result, ...identity } = expectOrdered(frames, "toolu_A");
    const names = frames.map(nameOf);
    expect(resultAt(frames, "toolu_A")).toBeGreaterThan(names.indexOf("CUSTOM(subagent.finished)"));
    expect(frames.at(-1)?.event).toMatchObject({ result: { status: "finished", text: "Going on." } });
    const watched = subagentText(frames);
    expect(watched).toContain("piece 1 ");
    expect(watched).toContain("piece 900 ");
    expect(names).toContain("CUSTOM(subagent.artifact)");
    expect(host.api.requests[0]?.conversation.tools).toContain(DELEGATE);

    // Claude Code gives its model the structured content alone.
    expect(host.modelSaw()).toEqual([expect.objectContaining({ toolUseId: "toolu_A", isError: false })]);
    const shown = host.modelSaw()[0]?.text ?? "";
    expect(shown).toBe(JSON.stringify(result));
    expect(JSON.parse(shown)).toMatchObject({
      agent: "research",
      status: "completed",
      delegation_id: identity.delegationId,
      remote_task_id: identity.remoteTaskId,
      artifacts: [{ name: "notes.md", size: 3000 }],
      truncated: true,
    });
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(8_192);
    const { summary } = JSON.parse(shown);
    const rest = JSON.stringify({ ...JSON.parse(shown), summary: "" });
    expect(rest).not.toContain("piece");
    expect(watched.startsWith(summary.slice(0, summary.lastIndexOf("…")))).toBe(true);
    const stored = await host.get(`/delegations/${identity.delegationId}/artifacts/notes.md`);
    const bytes = await stored.text();
    expect(bytes).toHaveLength(3000);
    for (const hidden of [
      "piece 899 ",
      "Leafing",
      "Tidying",
      JSON.stringify(bytes.slice(100, 140)).slice(1, -1),
    ])
      expect(JSON.stringify(host.api.requests.at(-1)?.conversation.toolResults)).not.toContain(hidden);
    expectNoSecret(host, frames);
    // The endpoint is closed to a run that is over.
    const stale = await fetch(host.host.mcpUrl, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${host.tokens[0]}` },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    expect(stale.status).toBe(401);
  });

  test("cases 087, 096: two of one message run side by side, each under its own call", async () => {
    const script = once(delegate("toolu_A", "#say first\n#hang"), delegate("toolu_B", "#say second"));
    await using host = await startRealHost({ script, legacy });
    const frames: Frame[] = [];
    // The first ends only after the second has, so they run at once or never.
    for await (const frame of framesOf(await host.post("Please delegate."))) {
      frames.push(frame);
      if (frame.event.name !== "subagent.finished") continue;
      const { delegationId } = customValue(byCall(frames).get("toolu_A")?.[0]);
      expect((await host.send(`/delegations/${delegationId}/cancel`)).status).toBe(202);
    }
    await verify(frames);
    const first = expectOrdered(frames, "toolu_A");
    const second = expectOrdered(frames, "toolu_B");
    expect([...byCall(frames).keys()].sort()).toEqual(["toolu_A", "toolu_B"]);
    expect(subagentText(byCall(frames).get("toolu_A") ?? [])).toBe("first");
    expect(subagentText(byCall(frames).get("toolu_B") ?? [])).toBe("second");
    expect(first.delegationId).not.toBe(second.delegationId);
    expect(first.remoteTaskId).not.toBe(second.remoteTaskId);
    const shown = new Map(host.modelSaw().map((seen) => [seen.toolUseId, seen]));
    expect(shown.get("toolu_A")).toMatchObject({ isError: true, text: JSON.stringify(first.result) });
    expect(shown.get("toolu_B")).toMatchObject({ isError: false, text: JSON.stringify(second.result) });
    expect(first.result).toMatchObject({ status: "cancelled", error: { code: "cancelled" } });
    expect(second.result).toMatchObject({ status: "completed", summary: "second" });
    for (const [call, { delegationId }] of [
      ["toolu_A", first],
      ["toolu_B", second],
    ] as const) {
      const at = frames.findIndex(
        (frame) => TERMINAL.test(frame.event.name ?? "") && customValue(frame).delegationId === delegationId,
      );
      expect(resultAt(frames, call)).toBeGreaterThan(at);
    }
    expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", result: { status: "finished" } });
    expectNoSecret(host, frames);
  });

  test("case 034: a person cancels in mid-delegation", async () => {
    await using host = await startRealHost({
      script: once(delegate("toolu_A", "#say Busy.\n#hang")),
      legacy,
    });
    let pid = 0;
    const frames = await onFirstWords(host, async () => {
      pid = trackedGroups()[0] ?? 0;
      expect((await host.send("/runs/run-1/cancel", { reason: "changed my mind" })).status).toBe(202);
    });
    await verify(frames);
    const ended = expectOrdered(frames, "toolu_A");
    expect(frames.map(nameOf)).toContain("CUSTOM(subagent.cancelled)");
    expect(ended).toMatchObject({ confirmed: true, reason: "changed my mind" });
    expect(frames.at(-1)?.event).toMatchObject({
      type: "RUN_FINISHED",
      result: { status: "cancelled", reason: "changed my mind" },
    });
    expect(resultAt(frames, "toolu_A")).toBeGreaterThan(0);
    expect(await cancels(host)).toMatchObject([
      {
        params: {
          id: ended.remoteTaskId,
          tenant: "acme",
          metadata: { delegationId: ended.delegationId, reason: "changed my mind" },
        },
      },
    ]);
    expect(pid).toBeGreaterThan(1);
    expect(signalGroup(pid, 0)).toBe(false);
    expect(host.api.requests).toHaveLength(1);
    expectNoSecret(host, frames);
  });

  test("a remote that fails is told to the model as an error", async () => {
    const objective = "#say Trying.\n#artifact log.txt 500\n#fail the source is gone";
    await using host = await startRealHost({ script: once(delegate("toolu_A", objective)), legacy });
    const frames = await collect(await host.post("Please delegate."));
    await verify(frames);
    const ended = expectOrdered(frames, "toolu_A");
    expect(ended.error).toMatchObject({ code: "remote_failed", remoteStatus: "failed" });
    expect(resultAt(frames, "toolu_A")).toBeGreaterThan(
      frames.findIndex(({ event }) => event.name === "subagent.failed"),
    );
    expect(host.modelSaw()).toMatchObject([
      { toolUseId: "toolu_A", isError: true, text: JSON.stringify(ended.result) },
    ]);
    expect(JSON.parse(host.modelSaw()[0]?.text ?? "")).toMatchObject({
      status: "failed",
      summary: "Trying.",
      error: {
        code: "remote_failed",
        message: "the source is gone",
        retryable: false,
        remote_status: "failed",
      },
    });
    expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", result: { status: "finished" } });
    expectNoSecret(host, frames);
  });

  test("cases 011, 024, 028: the program is killed in mid-delegation", async () => {
    await using host = await startRealHost({
      script: once(delegate("toolu_A", "#say Busy.\n#hang")),
      legacy,
    });
    const frames = await onFirstWords(host, async () => process.kill(Number(trackedGroups()[0]), "SIGKILL"));
    await verify(frames);
    const ended = expectOrdered(frames, "toolu_A");
    expect(frames.map(nameOf)).toContain("CUSTOM(subagent.cancelled)");
    expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_ERROR", code: "program_died" });
    expect(await cancels(host)).toMatchObject([
      { params: { id: ended.remoteTaskId, metadata: { delegationId: ended.delegationId } } },
    ]);
    expect(await (await host.get("/runs/run-1")).json()).toMatchObject({
      status: "failed",
      error: { code: "program_died" },
    });
    expectNoSecret(host, frames);
  });
});

test("a second run of the thread goes on with its conversation, and still knows only the small result", async () => {
  const objective = "#status Leafing through the archive\n#chunks 900";
  await using host = await startRealHost({
    script: [
      { content: [delegate("toolu_A", objective)] },
      { content: [text("The first answer.")] },
      { content: [delegate("toolu_B", "#say again")] },
      { content: [text("The second answer.")] },
    ],
  });
  const first = await collect(await host.post("My first words."));
  const second = await collect(await host.post("My second words.", { runId: "run-2" }));
  await verify([...first, ...second]);
  expect(second.at(-1)?.event).toMatchObject({
    type: "RUN_FINISHED",
    result: { text: "The second answer." },
  });
  const history = JSON.stringify(host.api.requests[2]?.conversation.body.messages);
  for (const known of ["My first words.", "The first answer.", "My second words.", "toolu_A"])
    expect(history).toContain(known);
  for (const hidden of ["piece 899 ", "Leafing"])
    expect(history.split(objective.split("\n")[0] ?? "").join("")).not.toContain(hidden);
  expect(customValue(subagentFrames(second)[0])).toMatchObject({
    runId: "run-2",
    parentToolCallId: "toolu_B",
    correlation: "strong",
  });
  expect(new Set(host.tokens).size).toBe(2);
  // Other threads know nothing of it.
  await collect(await host.post("Elsewhere.", { threadId: "thread-2", runId: "run-3" }));
  expect(JSON.stringify(host.api.requests.at(-1)?.conversation.body.messages)).not.toContain(
    "My first words.",
  );
});

test("a permission is asked over HTTP: yes runs the tool, no reaches the model, and each is decided once", async () => {
  const touch = (id: string, name: string): MessagesBlock => ({
    type: "tool_use",
    id,
    name: "Bash",
    input: { command: `touch ${name}` },
  });
  await using host = await startRealHost({ script: once(touch("toolu_A", "yes"), touch("toolu_B", "no")) });
  const frames: Frame[] = [];
  for await (const frame of framesOf(await host.post("Please touch."))) {
    frames.push(frame);
    if (frame.event.name !== "approval.requested") continue;
    const { approvalId, toolCallId } = customValue(frame);
    const body =
      toolCallId === "toolu_A" ? { decision: "approve" } : { decision: "deny", message: "not this one" };
    expect((await host.send(`/approvals/${approvalId}`, body)).status).toBe(202);
    expect((await host.send(`/approvals/${approvalId}`, { decision: "approve" })).status).toBe(409);
  }
  await verify(frames);
  const approvals = frames
    .filter(({ event }) => event.name?.startsWith("approval."))
    .map((frame) => customValue(frame));
  expect(approvals).toMatchObject([
    { kind: "permission", tool: "Bash", toolCallId: "toolu_A", title: "Use Bash: touch yes" },
    { decision: "approve", by: "person" },
    { kind: "permission", tool: "Bash", toolCallId: "toolu_B" },
    { decision: "deny", by: "person" },
  ]);
  expect(["yes", "no"].map((name) => existsSync(join(host.workingDirectory, name)))).toEqual([true, false]);
  expect(host.modelSaw()).toMatchObject([
    { toolUseId: "toolu_A", isError: false },
    { toolUseId: "toolu_B", isError: true, text: "not this one" },
  ]);
  expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", result: { status: "finished" } });
});
