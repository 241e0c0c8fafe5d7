import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createAgent } from "../src/core/agent.js";
import { claude } from "../src/drivers/claude/claude.js";
import { trackedGroups } from "../src/drivers/process/process-group.js";
import { createHost } from "../src/host/host.js";
import { a2a } from "../src/remotes/a2a/a2a.js";
import { type MessagesServer, startMessagesServer } from "../src/testing/messages/messages-server.js";
import type { MessagesScript } from "../src/testing/messages/script.js";
import type { ResponsesItem } from "../src/testing/responses/script.js";
import { deferred } from "../test/support/deferred.js";
import { collect, customValue, type Frame, framesOf, nameOf, subagentText } from "../test/support/frames.js";
import { verify } from "../test/support/verify.js";
import { realClaude } from "./real-claude.js";
import { CODEX_MISSING } from "./real-codex.js";
import { type CodexFace, FACE_TOKEN, startCodexFace } from "./real-codex-face.js";

afterEach(() => {
  expect(trackedGroups()).toEqual([]);
});

const text = (value: string): ResponsesItem => ({ type: "text", text: value });
const shell = (callId: string, cmd: string): ResponsesItem => ({
  ...{ type: "function_call", callId, name: "exec_command", arguments: { cmd } },
});

const DELEGATE = "mcp__a2a-subagents__delegate_to_agent";
const CALL = "toolu_A";

/** Claude's model asks Codex once, and goes on with what it gets. */
const ASKS: MessagesScript = [
  {
    content: [
      { type: "text", text: "I ask Codex." },
      { type: "tool_use", id: CALL, name: DELEGATE, input: { agent: "codex", objective: "Write the file." } },
    ],
  },
  { content: [{ type: "text", text: "Codex wrote it." }] },
];

/** A host whose `claude` is the real Claude Code, with a scripted model, and whose sub-agent is the real Codex of another host. */
class ClaudeCallsCodex implements AsyncDisposable {
  constructor(
    readonly url: string,
    readonly api: MessagesServer,
    private readonly close: () => Promise<void>,
  ) {}

  post(query = ""): Promise<Response> {
    return fetch(`${this.url}/agents/claude/run${query}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        threadId: "thread-1",
        runId: "run-1",
        messages: [{ id: "m", role: "user", content: "Have Codex write the file." }],
      }),
    });
  }

  cancelDelegation(id: unknown, reason: string): Promise<Response> {
    return fetch(`${this.url}/delegations/${id}/cancel`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ reason }),
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function startClaude(face: CodexFace): Promise<ClaudeCallsCodex> {
  const api = await startMessagesServer({ script: ASKS });
  const program = await realClaude({ baseUrl: api.url });
  const files = await mkdtemp(join(tmpdir(), "troupe-e2e-"));
  const host = await createHost({
    agents: {
      claude: createAgent(claude({ executable: program.executable }), {
        workspace: program.workspace,
        env: program.env,
      }),
    },
    subAgents: [
      a2a({ name: "codex", agentCardUrl: face.cardUrl, auth: { mode: "bearer", token: FACE_TOKEN } }),
    ],
  });
  await host.probe();
  const { url } = await host.listen({ port: 0 });
  return new ClaudeCallsCodex(url, api, async () => {
    await host.close();
    await api.close();
    await program.close();
    await rm(files, { recursive: true, force: true });
  });
}

/** Where a frame is; it has to be there. */
function at(frames: readonly Frame[], what: string, find: (frame: Frame) => boolean): number {
  const index = frames.findIndex(find);
  expect(index, what).toBeGreaterThanOrEqual(0);
  return index;
}

const named = (name: string) => (frame: Frame) => nameOf(frame) === `CUSTOM(subagent.${name})`;
const ofCall = (name: string, toolCallId: string) => (frame: Frame) =>
  named(name)(frame) && customValue(frame).toolCallId === toolCallId;

describe.skipIf(CODEX_MISSING !== undefined)(
  CODEX_MISSING ?? "the real Claude Code calls the real Codex",
  () => {
    test("Codex's words, command and file change are watched live, nested under Claude's call; Claude's model gets the small result alone", async () => {
      const patch = "*** Begin Patch\n*** Add File: made.txt\n+hello from codex\n*** End Patch\n";
      // Codex's model says nothing more until its first words are seen at the calling host: what is not live hangs.
      const { promise: seen, resolve: see } = deferred<void>();
      await using face = await startCodexFace({
        model: "gpt-5.5",
        script: [
          {
            content: [
              { type: "reasoning", text: "Thinking of the file." },
              text("I look around, and then I write."),
              { type: "pause", until: seen },
              shell("call_sh", "echo looked-around"),
            ],
          },
          { content: [{ type: "custom_tool_call", name: "apply_patch", callId: "call_p", input: patch }] },
          { content: [text("The file is written.")] },
        ],
      });
      await using parent = await startClaude(face);
      const frames: Frame[] = [];
      for await (const frame of framesOf(await parent.post())) {
        frames.push(frame);
        if (named("text.delta")(frame)) see();
      }
      await verify(frames);
      await verify(await collect(await parent.post("?subagents=native")));

      // One stream, in order: Claude's words, its call, Codex within it, the result, Claude's words.
      const started = at(frames, "started", named("started"));
      const finished = at(frames, "finished", named("finished"));
      const order = [
        at(frames, "RUN_STARTED", ({ event }) => event.type === "RUN_STARTED"),
        at(frames, "the call", ({ event }) => event.type === "TOOL_CALL_START" && event.toolCallId === CALL),
        started,
        at(frames, "first words", named("text.delta")),
        at(frames, "command starts", ofCall("tool.start", "call_sh")),
        at(frames, "command's result", ofCall("tool.result", "call_sh")),
        at(frames, "change starts", ofCall("tool.start", "call_p")),
        at(frames, "change's result", ofCall("tool.result", "call_p")),
        frames.findLastIndex(named("text.delta")),
        finished,
        at(
          frames,
          "the result",
          ({ event }) => event.type === "TOOL_CALL_RESULT" && event.toolCallId === CALL,
        ),
        at(frames, "the end", ({ event }) => event.type === "RUN_FINISHED"),
      ];
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      expect(order.at(-1)).toBe(frames.length - 1);

      // Nested: all that is Codex's stands between its start and its end, under the one call that is known exactly.
      expect(customValue(frames[started])).toMatchObject({
        correlation: "strong",
        agentKey: "codex",
        agentName: "Codex",
        objective: "Write the file.",
      });
      frames.forEach((frame, index) => {
        if (!frame.event.name?.startsWith("subagent.")) return;
        expect(index).toBeGreaterThanOrEqual(started);
        expect(index).toBeLessThanOrEqual(finished);
        expect(customValue(frame)).toMatchObject({ runId: "run-1", parentToolCallId: CALL, protocol: "a2a" });
      });

      expect(subagentText(frames)).toBe("I look around, and then I write.The file is written.");
      expect(frames.filter(named("text.delta")).length).toBeGreaterThan(4);
      const thoughts = frames.filter(named("reasoning.delta")).map((frame) => customValue(frame).delta);
      expect(thoughts.join("")).toBe("Thinking of the file.");
      expect(customValue(frames[order[4] ?? 0])).toMatchObject({ name: "shell" });
      expect(customValue(frames.find(ofCall("tool.args", "call_sh"))).delta).toContain("echo looked-around");
      expect(customValue(frames[order[5] ?? 0])).toMatchObject({
        content: "looked-around\n",
        isError: false,
      });
      expect(customValue(frames[order[6] ?? 0])).toMatchObject({ name: "apply_patch" });
      expect(customValue(frames.find(ofCall("tool.args", "call_p"))).delta).toContain("made.txt");
      expect(customValue(frames[order[7] ?? 0])).toMatchObject({ isError: false });
      expect(readFileSync(join(face.program.workspace, "made.txt"), "utf8")).toBe("hello from codex\n");

      // The boundary: the exact small JSON of the terminal event, and nothing else of what was watched.
      const { result } = customValue(frames[finished]);
      const shown = parent.api.requests.at(-1)?.conversation.toolResults ?? [];
      expect(shown).toEqual([expect.objectContaining({ toolUseId: CALL, isError: false })]);
      expect(shown[0]?.text).toBe(JSON.stringify(result));
      expect(result).toMatchObject({ agent: "codex", status: "completed", summary: "The file is written." });
      const model = JSON.stringify(parent.api.requests);
      for (const hidden of ["looked-around", "apply_patch", "Thinking of the file"])
        expect(model.includes(hidden), hidden).toBe(false);
      expect(frames.at(-1)?.event).toMatchObject({ result: { status: "finished", text: "Codex wrote it." } });
      expect(await face.tasks()).toMatchObject([{ status: { state: "TASK_STATE_COMPLETED" } }]);
      expect((model + JSON.stringify([frames, face.api.requests])).includes(FACE_TOKEN)).toBe(false);
      expect(face.api.requests[0]?.conversation.prompt).toBe("Write the file.");
    });

    test("Codex is cancelled in mid-command: its process is gone, its task cancelled, and Claude is told", async () => {
      await using face = await startCodexFace({
        sandbox: "danger-full-access",
        script: [
          { content: [text("I work."), shell("call_sh", "echo first; echo $$ > pid; exec sleep 100")] },
        ],
      });
      await using parent = await startClaude(face);
      const file = join(face.program.workspace, "pid");
      const frames: Frame[] = [];
      let pid = 0;
      for await (const frame of framesOf(await parent.post())) {
        frames.push(frame);
        if (!ofCall("tool.start", "call_sh")(frame)) continue;
        await expect.poll(() => existsSync(file) && readFileSync(file, "utf8").endsWith("\n")).toBe(true);
        pid = Number(readFileSync(file, "utf8"));
        expect(commandOf(pid)).toContain("sleep");
        const { delegationId } = customValue(frame);
        expect((await parent.cancelDelegation(delegationId, "enough")).status).toBe(202);
      }
      await verify(frames);
      await expect.poll(() => commandOf(pid)).toBe("");
      const ended = frames.filter((frame) =>
        /^CUSTOM\(subagent\.(?:finished|failed|cancelled)\)$/.test(nameOf(frame)),
      );
      expect(ended.map(nameOf)).toEqual(["CUSTOM(subagent.cancelled)"]);
      expect(customValue(ended[0])).toMatchObject({
        reason: "enough",
        confirmed: true,
        parentToolCallId: CALL,
      });
      expect(await face.tasks()).toMatchObject([{ status: { state: "TASK_STATE_CANCELED" } }]);
      const [shown] = parent.api.requests.at(-1)?.conversation.toolResults ?? [];
      expect(shown).toMatchObject({ toolUseId: CALL, isError: true });
      expect(JSON.parse(shown?.text ?? "{}")).toMatchObject({
        status: "cancelled",
        error: { code: "cancelled" },
      });
      expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", result: { status: "finished" } });
      expect(face.api.requests).toHaveLength(1);
    });

    test("what Codex asks is answered at the calling host", async () => {
      await using face = await startCodexFace({
        sandbox: "read-only",
        script: [
          {
            content: [
              {
                type: "function_call",
                callId: "call_w",
                name: "exec_command",
                arguments: {
                  cmd: "touch asked",
                  sandbox_permissions: "require_escalated",
                  justification: "It writes.",
                },
              },
            ],
          },
          { content: [text("Asked and done.")] },
        ],
      });
      await using parent = await startClaude(face);
      const frames: Frame[] = [];
      for await (const frame of framesOf(await parent.post())) {
        frames.push(frame);
        if (!named("input_required")(frame)) continue;
        const { delegationId, prompt } = customValue(frame);
        expect(prompt).toContain("touch asked");
        const answered = await fetch(`${parent.url}/delegations/${delegationId}/input`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ data: { decision: "approve" } }),
        });
        expect(answered.status).toBe(202);
      }
      await verify(frames);
      expect(existsSync(join(face.program.workspace, "asked"))).toBe(true);
      expect(customValue(frames.find(named("finished"))).result).toMatchObject({
        summary: "Asked and done.",
      });
    });
  },
);

/** The command line of a process that lives; empty when it is gone. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
