import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { trackedGroups } from "../src/drivers/process/process-group.js";
import type { GeminiItem, GeminiScript } from "../src/testing/gemini/script.js";
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
import { type GeminiHost, REMOTE_TOKEN, startGeminiHost } from "./real-gemini.js";

afterEach(() => {
  expect(trackedGroups()).toEqual([]);
});

const TOOL = "mcp_a2a-subagents_delegate_to_agent";

const delegate = (id: string, objective: string): GeminiItem => ({
  type: "function_call",
  id,
  name: TOOL,
  args: { agent: "research", objective },
});

/** The model says this once, and then that it goes on. */
const once = (...content: GeminiItem[]): GeminiScript => [
  { content },
  { content: [{ type: "text", text: "Going on." }] },
];

/** Neither a run's own token nor the remote's credential went to the model, to a reader, or to a file of the program. */
function expectNoSecret(host: GeminiHost, frames: readonly Frame[]): void {
  const files = readdirSync(host.program.home, { recursive: true, encoding: "utf8" })
    .map((file) => join(host.program.home, file))
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, "latin1"));
  expect(files.length).toBeGreaterThan(0);
  expect(host.tokens.length).toBeGreaterThan(0);
  for (const place of [host.allSent(), JSON.stringify(frames), ...files])
    for (const secret of [...host.tokens, REMOTE_TOKEN]) expect(place.includes(secret)).toBe(false);
}

const startsOf = (frames: readonly Frame[]) =>
  frames.flatMap(({ event }) => (event.type === "TOOL_CALL_START" ? [String(event.toolCallId)] : []));

test("a delegation is watched in full; the model gets the small result and nothing else; nobody is asked", async () => {
  const objective = "#status Leafing through the archive\n#chunks 900\n#artifact notes.md 3000";
  await using host = await startGeminiHost(
    once(
      { type: "thought", text: "Thinking hard." },
      { type: "text", text: "I ask." },
      delegate("A", objective),
    ),
  );
  const frames = await collect(await host.post("Please delegate."));
  await verify(frames);
  expect(frames.at(-1)?.event).toMatchObject({ type: "RUN_FINISHED", result: { status: "finished" } });
  const names = frames.map(nameOf);
  expect(names).not.toContain("CUSTOM(approval.requested)");
  expect(names).toContain("CUSTOM(subagent.artifact)");
  const watched = subagentText(frames);
  expect(watched).toContain("piece 1 ");
  expect(watched).toContain("piece 900 ");

  const own = subagentFrames(frames);
  const [call] = startsOf(frames);
  expect(customValue(own[0])).toMatchObject({
    correlation: "medium",
    agentKey: "research",
    parentToolCallId: call,
  });
  const end = own.at(-1);
  expect(end?.event.name).toBe("subagent.finished");
  expect(host.api.requests[0]?.conversation.tools).toContain(TOOL);
  const [shown] = host.modelSaw();
  const { result } = customValue(end);
  expect(shown?.text).toContain(JSON.stringify(result));
  for (const hidden of ["piece 899 ", "Leafing"]) expect(shown?.text).not.toContain(hidden);
  expectNoSecret(host, frames);
});

test("two of one message, each under its own call", async () => {
  await using host = await startGeminiHost(once(delegate("A", "#say first"), delegate("B", "#say second")));
  const frames = await collect(await host.post("Please delegate twice."));
  await verify(frames);
  const calls = startsOf(frames);
  expect(calls).toHaveLength(2);
  const byCall = calls.map((call) =>
    subagentFrames(frames).filter((frame) => customValue(frame).parentToolCallId === call),
  );
  expect(byCall.map((own) => subagentText(own))).toEqual(["first", "second"]);
  expect(
    host.modelSaw().map(({ id, text }) => [id, text.includes("first"), text.includes("second")]),
  ).toEqual([
    ["A", true, false],
    ["B", false, true],
  ]);
  expectNoSecret(host, frames);
});

test("cases 011, 026: a cancel of the run reaches the remote, although the program never tells", async () => {
  await using host = await startGeminiHost(once(delegate("A", "#say working\n#hang")));
  const frames: Frame[] = [];
  let cancelled = false;
  for await (const frame of framesOf(await host.post("Please delegate."))) {
    frames.push(frame);
    if (cancelled || frame.event.name !== "subagent.text.delta") continue;
    cancelled = true;
    expect((await host.send("/runs/run-1/cancel")).status).toBe(202);
  }
  await verify(frames);
  expect(subagentFrames(frames).at(-1)?.event.name).toBe("subagent.cancelled");
  expect((await host.remote.seen()).filter(({ method }) => /cancel/i.test(method))).toHaveLength(1);
  expect(host.api.requests).toHaveLength(1);
  expectNoSecret(host, frames);
});

test("a command and an edit are asked for over HTTP; yes runs, no does not", async () => {
  await using host = await startGeminiHost(
    once(
      { type: "function_call", name: "run_shell_command", args: { command: "touch yes" } },
      { type: "function_call", name: "write_file", args: { file_path: "no.txt", content: "hello" } },
    ),
  );
  const frames: Frame[] = [];
  for await (const frame of framesOf(await host.post("Please touch."))) {
    frames.push(frame);
    if (frame.event.name !== "approval.requested") continue;
    const { approvalId, tool } = customValue(frame);
    const decision = tool === "run_shell_command" ? "approve" : "deny";
    expect((await host.send(`/approvals/${approvalId}`, { decision })).status).toBe(202);
  }
  await verify(frames);
  const asked = frames.filter(({ event }) => event.name === "approval.requested").map(customValue);
  expect(asked.map(({ kind, tool, title }) => [kind, tool, title])).toEqual([
    ["permission", "run_shell_command", "touch yes"],
    ["permission", "write_file", "Writing to no.txt"],
  ]);
  expect(asked.map(({ toolCallId }) => toolCallId)).toEqual(startsOf(frames));
  expect(["yes", "no.txt"].map((name) => existsSync(join(host.program.workspace, name)))).toEqual([
    true,
    false,
  ]);
  expect(frames.at(-1)?.event.type).toMatch(/^RUN_(FINISHED|ERROR)$/);
});
