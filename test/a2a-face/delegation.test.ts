import { describe, expect, it } from "vitest";
import type { A2aExposure } from "../../src/bridges/a2a/options.js";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import type { Script } from "../../src/testing/claude/script.js";
import {
  collect,
  customValue,
  type Frame,
  framesOf,
  nameOf,
  subagentFrames,
  subagentText,
} from "../support/frames.js";
import { startTestHost } from "../support/host.js";
import { rpc, startFaceHost } from "./face-host.js";

const WORKS: Script = {
  turns: [
    [
      { think: "First I look around." },
      { say: "I look." },
      { tools: [{ name: "Bash", input: { command: "ls src" }, result: "main.ts" }] },
      {
        tools: [{ name: "Write", input: { file_path: "src/new.ts", content: "secret" }, result: "written" }],
      },
      { say: "There is one file." },
    ],
  ],
};

/** What a parent's reader sees of the remote, one host calling an agent of another. */
async function delegated(
  exposure: A2aExposure | undefined,
): Promise<{ frames: Frame[]; model: Record<string, unknown> }> {
  await using face = await startFaceHost(WORKS, {
    a2a: { agents: { claude: exposure === undefined ? true : { exposure } } },
  });
  await using parent = await startTestHost({
    host: { subAgents: [a2a({ name: "research", agentCardUrl: face.cardUrl })] },
  });
  const frames = subagentFrames(await collect(await parent.post("Look around")));
  const finished = frames.find((frame) => nameOf(frame) === "CUSTOM(subagent.finished)");
  return { frames, model: customValue(finished).result as Record<string, unknown> };
}

const toolsIn = (frames: readonly Frame[]) =>
  frames
    .filter(({ event }) => event.name?.startsWith("subagent.tool."))
    .map((frame) => {
      const { name, delta, content, isError } = customValue(frame);
      return [frame.event.name?.replace("subagent.tool.", ""), name ?? delta ?? content, isError].filter(
        (part) => part !== undefined,
      );
    });

describe("an agent of ours called by an agent of ours", () => {
  it("shows its words, commands and file changes as they come, nested under the call", async () => {
    const { frames, model } = await delegated({ tools: "full", reasoning: true, files: true, usage: true });
    expect(toolsIn(frames)).toEqual([
      ["start", "Bash"],
      ["args", '{"command":"ls src"}'],
      ["end"],
      ["result", "main.ts", false],
      ["start", "Write"],
      ["args", '{"file_path":"src/new.ts","content":"secret"}'],
      ["end"],
      ["result", "written", false],
    ]);
    expect(subagentText(frames)).toBe("I look.There is one file.");
    const thoughts = frames.filter(({ event }) => event.name === "subagent.reasoning.delta");
    expect(thoughts.map((frame) => customValue(frame).delta).join("")).toBe("First I look around.");
    // The text before the command and the text after it are two messages around it.
    const order = frames
      .map(nameOf)
      .filter((name) => /text.start|tool.start|finished/.test(name))
      .map((name) => name.replace("CUSTOM(subagent.", "").replace(")", ""));
    expect(order).toEqual(["text.start", "tool.start", "tool.start", "text.start", "finished"]);
    expect(model).toMatchObject({ status: "completed", summary: "There is one file." });
    expect(frames.filter(({ event }) => event.name === "subagent.artifact")).toEqual([]);
  });

  it("shows names alone, or paths alone, when that is all that may leave", async () => {
    const names = await delegated({ tools: "names" });
    expect(toolsIn(names.frames)).toEqual([
      ["start", "Bash"],
      ["end"],
      ["result", "", false],
      ["start", "Write"],
      ["end"],
      ["result", "", false],
    ]);
    const files = await delegated({ files: true });
    expect(toolsIn(files.frames)).toEqual([
      ["start", "Write"],
      ["args", '{"path":"src/new.ts"}'],
      ["end"],
      ["result", "", false],
    ]);
    expect(JSON.stringify(files.frames)).not.toMatch(/secret|ls src/);
  });

  it("asks through the parent, and goes on with the answer", async () => {
    const asks: Script = {
      turns: [
        [
          { permission: { tool: "Bash", input: { command: "make" }, result: "made" } },
          { say: "It is made." },
        ],
      ],
    };
    await using face = await startFaceHost(asks, {
      a2a: { agents: { claude: { exposure: { tools: "full" } } } },
    });
    await using parent = await startTestHost({
      host: { subAgents: [a2a({ name: "research", agentCardUrl: face.cardUrl })] },
    });
    const seen: Frame[] = [];
    for await (const frame of framesOf(await parent.post("Make it"))) {
      seen.push(frame);
      if (nameOf(frame) !== "CUSTOM(subagent.input_required)") continue;
      const { delegationId, prompt, schema } = customValue(frame);
      expect(prompt).toContain("Bash");
      expect(schema).toMatchObject({ required: ["decision"] });
      await parent.send(`/delegations/${delegationId}/input`, { data: { decision: "approve" } });
    }
    const frames = subagentFrames(seen);
    expect(toolsIn(frames)).toContainEqual(["result", "made", false]);
    expect(subagentText(frames)).toBe("It is made.");
    expect(frames.map(nameOf)).toContain("CUSTOM(subagent.input_resolved)");
    expect(frames.filter((frame) => nameOf(frame) === "CUSTOM(subagent.finished)")).toHaveLength(1);
  });

  it("is stopped by the parent, and that is confirmed", async () => {
    await using face = await startFaceHost({ turns: [[{ say: "Working." }, { hang: true }]] });
    await using parent = await startTestHost({
      host: { subAgents: [a2a({ name: "research", agentCardUrl: face.cardUrl })] },
    });
    const seen: Frame[] = [];
    let stopped = false;
    for await (const frame of framesOf(await parent.post("Work"))) {
      seen.push(frame);
      if (stopped || nameOf(frame) !== "CUSTOM(subagent.text.delta)") continue;
      stopped = true;
      await parent.send(`/delegations/${customValue(frame).delegationId}/cancel`, { reason: "enough" });
    }
    const cancelled = seen.find((frame) => nameOf(frame) === "CUSTOM(subagent.cancelled)");
    expect(customValue(cancelled)).toMatchObject({ reason: "enough", confirmed: true });
    const { result } = await (await rpc(face, "ListTasks", {})).json();
    expect(result.tasks).toMatchObject([{ status: { state: "TASK_STATE_CANCELED" } }]);
  });

  it("shows its words alone by default", async () => {
    const { frames } = await delegated(undefined);
    expect(toolsIn(frames)).toEqual([]);
    expect(subagentText(frames)).toBe("I look.There is one file.");
    expect(JSON.stringify(frames)).not.toMatch(/ls src|new\.ts|First I look around/);
  });
});
