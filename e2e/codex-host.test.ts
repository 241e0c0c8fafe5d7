import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { signalGroup, trackedGroups } from "../src/drivers/process/process-group.js";
import type { ResponsesItem, ResponsesScript } from "../src/testing/responses/script.js";
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
import { CODEX_MISSING } from "./real-codex.js";
import { type CodexHost, REMOTE_TOKEN, startCodexHost } from "./real-codex-host.js";

afterEach(() => {
  expect(trackedGroups()).toEqual([]);
});

const text = (value: string): ResponsesItem => ({ type: "text", text: value });
const delegate = (callId: string, objective: string): ResponsesItem => ({
  type: "function_call",
  callId,
  name: "delegate_to_agent",
  namespace: "mcp__a2a_subagents",
  arguments: { agent: "research", objective },
});
const shell = (callId: string, cmd: string, fields: object = {}): ResponsesItem => ({
  type: "function_call",
  callId,
  name: "exec_command",
  arguments: { cmd, ...fields },
});

/** The model says this once, and then that it goes on. */
const once = (...content: ResponsesItem[]): ResponsesScript => [
  { content },
  { content: [text("Going on.")] },
];

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
 * What holds of every delegation, however it ends: it is known by the program's own id of the call, it is one, and it ends once,
 * before its call has its result and before the run ends. (The program's notice of a call and the call itself race, so it may start
 * first.)
 * @returns the value of its terminal event.
 */
function expectOrdered(frames: readonly Frame[], call: string): Record<string, unknown> {
  const own = byCall(frames).get(call) ?? [];
  expect(own[0]?.event.name).toBe("subagent.started");
  expect(customValue(own[0])).toMatchObject({ correlation: "strong", agentKey: "research" });
  expect(new Set(own.map((frame) => customValue(frame).delegationId)).size).toBe(1);
  const end = own.at(-1);
  expect(own.filter(({ event }) => TERMINAL.test(event.name ?? ""))).toEqual([end]);
  const at = (find: (frame: Frame) => boolean) => frames.findIndex(find);
  expect(at(({ event }) => event.type === "TOOL_CALL_START" && event.toolCallId === call)).toBeGreaterThan(0);
  const ended = at((frame) => frame === end);
  expect(at(({ event }) => event.type === "TOOL_CALL_RESULT" && event.toolCallId === call)).toBeGreaterThan(
    ended,
  );
  const over = at(({ event }) => event.type === "RUN_FINISHED" || event.type === "RUN_ERROR");
  expect(over).toBeGreaterThan(ended);
  expect(over).toBe(frames.length - 1);
  return customValue(end);
}

/** Neither a run's own token nor the remote's credential went to the model, to a reader, or to a file of the program. */
function expectNoSecret(host: CodexHost, frames: readonly Frame[]): void {
  const files = readdirSync(host.program.home, { recursive: true, encoding: "utf8" })
    .map((file) => join(host.program.home, file))
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, "latin1"));
  expect(files.length).toBeGreaterThan(0);
  expect(host.tokens.length).toBeGreaterThan(0);
  for (const place of [host.allSent(), JSON.stringify(frames), ...files])
    for (const secret of [...host.tokens, REMOTE_TOKEN]) expect(place.includes(secret)).toBe(false);
}

async function cancels(host: CodexHost) {
  return (await host.remote.seen()).filter(({ method }) => /cancel/i.test(method));
}

/** Reads a run to its end, and does something when the remote has said its first words. */
async function onFirstWords(host: CodexHost, act: (frame: Frame) => Promise<unknown>): Promise<Frame[]> {
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

describe.skipIf(CODEX_MISSING !== undefined)(CODEX_MISSING ?? "the real Codex", () => {
  test("cases 091, 100, 112: a delegation is watched in full; the model gets the small result and nothing else", async () => {
    const objective =
      "#status Leafing through the archive\n#chunks 900\n#artifact notes.md 3000\n#status Tidying up";
    await using host = await startCodexHost({
      script: once(
        { type: "reasoning", text: "Thinking hard." },
        text("I ask."),
        delegate("call_A", objective),
      ),
    });
    const frames = await collect(await host.post("Please delegate."));
    await verify(frames);
    await verify(await collect(await host.post("Please delegate.", { query: "?subagents=native" })));

    const { result, ...identity } = expectOrdered(frames, "call_A");
    expect(frames.at(-1)?.event).toMatchObject({ result: { status: "finished", text: "Going on." } });
    const watched = subagentText(frames);
    expect(watched).toContain("piece 1 ");
    expect(watched).toContain("piece 900 ");
    expect(frames.map(nameOf)).toContain("CUSTOM(subagent.artifact)");
    expect(host.api.requests[0]?.conversation.tools).toContain("mcp__a2a_subagents.delegate_to_agent");

    const shown = host.resultOf("call_A");
    expect(shown).toBe(JSON.stringify(result));
    expect(JSON.parse(shown)).toMatchObject({
      agent: "research",
      status: "completed",
      delegation_id: identity.delegationId,
      artifacts: [{ name: "notes.md", size: 3000 }],
      truncated: true,
    });
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(8_192);
    for (const hidden of ["piece 899 ", "Leafing", "Tidying"])
      expect(JSON.stringify(host.modelSaw())).not.toContain(hidden);
    expectNoSecret(host, frames);
  });

  test("cases 087, 096: two of one message run side by side, each under its own call", async () => {
    const script = once(delegate("call_A", "#say first\n#hang"), delegate("call_B", "#say second"));
    await using host = await startCodexHost({ script });
    const frames: Frame[] = [];
    let stopped = false;
    // The first ends only after the second has, so they run at once or never.
    for await (const frame of framesOf(await host.post("Please delegate."))) {
      frames.push(frame);
      const over = frames.some(({ event }) => event.name === "subagent.finished");
      const { delegationId } = customValue(byCall(frames).get("call_A")?.[0]);
      if (stopped || !over || delegationId === undefined) continue;
      stopped = true;
      expect((await host.send(`/delegations/${delegationId}/cancel`)).status).toBe(202);
    }
    await verify(frames);
    const first = expectOrdered(frames, "call_A");
    const second = expectOrdered(frames, "call_B");
    expect([...byCall(frames).keys()].sort()).toEqual(["call_A", "call_B"]);
    expect(subagentText(byCall(frames).get("call_A") ?? [])).toBe("first");
    expect(subagentText(byCall(frames).get("call_B") ?? [])).toBe("second");
    expect(first.remoteTaskId).not.toBe(second.remoteTaskId);
    expect(host.resultOf("call_A")).toBe(JSON.stringify(first.result));
    expect(host.resultOf("call_B")).toBe(JSON.stringify(second.result));
    expect(first.result).toMatchObject({ status: "cancelled", error: { code: "cancelled" } });
    expect(second.result).toMatchObject({ status: "completed", summary: "second" });
    expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", result: { status: "finished" } });
    expectNoSecret(host, frames);
  });

  test("case 034: a person cancels in mid-delegation", async () => {
    await using host = await startCodexHost({ script: once(delegate("call_A", "#say Busy.\n#hang")) });
    let pid = 0;
    const frames = await onFirstWords(host, async () => {
      pid = trackedGroups()[0] ?? 0;
      expect((await host.send("/runs/run-1/cancel", { reason: "changed my mind" })).status).toBe(202);
    });
    await verify(frames);
    const ended = expectOrdered(frames, "call_A");
    expect(frames.map(nameOf)).toContain("CUSTOM(subagent.cancelled)");
    expect(ended).toMatchObject({ confirmed: true, reason: "changed my mind" });
    expect(frames.at(-1)?.event).toMatchObject({
      type: "RUN_FINISHED",
      result: { status: "cancelled", reason: "changed my mind" },
    });
    expect(await cancels(host)).toMatchObject([
      { params: { id: ended.remoteTaskId, metadata: { delegationId: ended.delegationId } } },
    ]);
    expect(pid).toBeGreaterThan(1);
    // What it had started is reaped by another process.
    await expect.poll(() => signalGroup(pid, 0)).toBe(false);
    expect(host.api.requests).toHaveLength(1);
    expectNoSecret(host, frames);
  });

  test("a remote that fails is told to the model", async () => {
    const objective = "#say Trying.\n#artifact log.txt 500\n#fail the source is gone";
    await using host = await startCodexHost({ script: once(delegate("call_A", objective)) });
    const frames = await collect(await host.post("Please delegate."));
    await verify(frames);
    const ended = expectOrdered(frames, "call_A");
    expect(ended.error).toMatchObject({ code: "remote_failed", remoteStatus: "failed" });
    expect(host.resultOf("call_A")).toBe(JSON.stringify(ended.result));
    expect(ended.result).toMatchObject({
      status: "failed",
      summary: "Trying.",
      error: { code: "remote_failed", message: "the source is gone", retryable: false },
    });
    expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", result: { status: "finished" } });
    expectNoSecret(host, frames);
  });

  test("cases 011, 024, 028: the program is killed in mid-delegation", async () => {
    await using host = await startCodexHost({ script: once(delegate("call_A", "#say Busy.\n#hang")) });
    const frames = await onFirstWords(host, async () => process.kill(Number(trackedGroups()[0]), "SIGKILL"));
    await verify(frames);
    const ended = expectOrdered(frames, "call_A");
    expect(frames.map(nameOf)).toContain("CUSTOM(subagent.cancelled)");
    expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_ERROR", code: "program_died" });
    expect(await cancels(host)).toMatchObject([{ params: { id: ended.remoteTaskId } }]);
    expect(host.api.requests).toHaveLength(1);
    expectNoSecret(host, frames);
  });

  test("a permission is asked over HTTP: yes runs the command, no reaches the model, and each is decided once", async () => {
    const more = { sandbox_permissions: "require_escalated", justification: "It writes." };
    const script = once(shell("call_A", "touch yes", more), shell("call_B", "touch no", more));
    await using host = await startCodexHost({ script });
    const frames: Frame[] = [];
    for await (const frame of framesOf(await host.post("Please touch."))) {
      frames.push(frame);
      if (frame.event.name !== "approval.requested") continue;
      const { approvalId, toolCallId } = customValue(frame);
      const decision = toolCallId === "call_A" ? "approve" : "deny";
      expect((await host.send(`/approvals/${approvalId}`, { decision })).status).toBe(202);
      expect((await host.send(`/approvals/${approvalId}`, { decision: "approve" })).status).toBe(409);
    }
    await verify(frames);
    const asked = frames.filter(({ event }) => event.name === "approval.requested").map(customValue);
    expect(asked).toHaveLength(2);
    for (const [toolCallId, name] of [
      ["call_A", "yes"],
      ["call_B", "no"],
    ])
      expect(asked).toContainEqual(
        expect.objectContaining({
          ...{ kind: "permission", tool: "shell", toolCallId },
          title: `Run /bin/bash -lc 'touch ${name}': It writes.`,
        }),
      );
    expect(["yes", "no"].map((name) => existsSync(join(host.program.workspace, name)))).toEqual([
      true,
      false,
    ]);
    expect(host.modelSaw()).toMatchObject([
      { callId: "call_A", text: expect.stringContaining("Process exited with code 0") },
      { callId: "call_B", text: expect.stringContaining("rejected by user") },
    ]);
    expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", result: { status: "finished" } });
  });

  test("a second run of the thread goes on with its conversation, and still knows only the small result", async () => {
    const objective = "#status Leafing through the archive\n#chunks 900";
    await using host = await startCodexHost({
      script: [
        { content: [delegate("call_A", objective)] },
        { content: [text("The first answer.")] },
        { content: [delegate("call_B", "#say again")] },
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
    const history = JSON.stringify(host.api.requests[2]?.conversation.body.input);
    for (const known of ["My first words.", "The first answer.", "My second words.", "call_A"])
      expect(history).toContain(known);
    expect(history).not.toContain("piece 899 ");
    expect(customValue(subagentFrames(second)[0])).toMatchObject({
      runId: "run-2",
      parentToolCallId: "call_B",
      correlation: "strong",
    });
    expect(new Set(host.tokens).size).toBe(2);
    // Other threads know nothing of it.
    await collect(await host.post("Elsewhere.", { threadId: "thread-2", runId: "run-3" }));
    expect(JSON.stringify(host.api.requests.at(-1)?.conversation.body.input)).not.toContain(
      "My first words.",
    );
    expectNoSecret(host, [...first, ...second]);
  });
});
