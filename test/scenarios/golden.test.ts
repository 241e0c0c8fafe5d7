import { describe, expect, it } from "vitest";
import { collect, customValue, nameOf, subagentText } from "../support/frames.js";
import { startTestHost } from "../support/host.js";
import { verify } from "../support/verify.js";

const GOLDEN = [
  "RUN_STARTED",
  "TOOL_CALL_START",
  "CUSTOM(subagent.started)",
  "CUSTOM(subagent.text.start)",
  "CUSTOM(subagent.text.delta)",
  "CUSTOM(subagent.artifact)",
  "CUSTOM(subagent.text.end)",
  "CUSTOM(subagent.finished)",
  "TOOL_CALL_RESULT",
  "TEXT_MESSAGE_START",
  "TEXT_MESSAGE_CONTENT",
  "TEXT_MESSAGE_END",
  "RUN_FINISHED",
];

const prompt = "#say Found it.\n#artifact notes.md 64";

describe("the golden sequence (S1 20.5)", () => {
  it.each(["modern", "legacy"] as const)("frame by frame, MCP %s", async (era) => {
    const script = {
      turns: [
        [
          {
            tools: [
              {
                name: "delegate_to_agent",
                id: "toolu_1",
                input: { agent: "research", objective: "{{prompt}}" },
              },
            ],
          },
          { say: "All done.", chunks: ["All done."] },
        ],
      ],
    };
    await using host = await startTestHost({ script, era });
    const frames = await collect(await host.post(prompt));
    const quiet = new Set(["TOOL_CALL_ARGS", "TOOL_CALL_END", "CUSTOM(subagent.status)"]);
    expect(frames.map(nameOf).filter((name) => !quiet.has(name))).toEqual(GOLDEN);
    const ids = frames.map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    const start = frames.find(({ event }) => event.type === "TOOL_CALL_START")?.event;
    expect(start).toMatchObject({ toolCallId: "toolu_1", toolCallName: "delegate_to_agent" });
    for (const frame of frames.filter(({ event }) => event.name?.startsWith("subagent."))) {
      expect(customValue(frame)).toMatchObject({
        runId: "run-1",
        parentToolCallId: "toolu_1",
        agentKey: "research",
        protocol: "a2a",
      });
    }
    expect(subagentText(frames)).toBe("Found it.");
    const finished = customValue(frames.find(({ event }) => event.name === "subagent.finished"));
    const result = frames.find(({ event }) => event.type === "TOOL_CALL_RESULT")?.event;
    expect(JSON.parse(String(result?.content))).toEqual(finished.result);
    for (const version of ["1.0.0", "0.0.59", "0.0.58"] as const) await verify(frames, version);
  });

  it("in native encoding, for clients of AG-UI 1.0 and 0.0.59", async () => {
    await using host = await startTestHost();
    const frames = await collect(await host.post(prompt, { protocolVersion: "1.0" }));
    const names = frames.map(nameOf);
    expect(names.indexOf("SUBAGENT_STARTED")).toBeGreaterThan(names.indexOf("TOOL_CALL_START"));
    expect(names.indexOf("SUBAGENT_FINISHED")).toBeLessThan(names.indexOf("TOOL_CALL_RESULT"));
    const started = frames.find(({ event }) => event.type === "SUBAGENT_STARTED")?.event;
    const call = frames.find(({ event }) => event.type === "TOOL_CALL_START")?.event;
    expect(started?.parentToolCallId).toBe(call?.toolCallId);
    const tagged = frames.filter(
      ({ event }) => event.type === "TEXT_MESSAGE_CONTENT" && event.subagentRunId !== undefined,
    );
    expect(tagged.map(({ event }) => event.delta).join("")).toBe("Found it.");
    await verify(frames, "1.0.0");
    await verify(frames, "0.0.59");
  });

  it("as a nested tool call, for clients that know nothing else (S1 18)", async () => {
    await using host = await startTestHost();
    const frames = await collect(await host.post(prompt, { query: "?subagents=tool" }));
    const names = frames.map(nameOf);
    const chunks = frames.filter(({ event }) => event.type === "TOOL_CALL_CHUNK");
    const results = frames.filter(({ event }) => event.type === "TOOL_CALL_RESULT");
    const call = frames.find(({ event }) => event.type === "TOOL_CALL_START")?.event;
    expect(chunks[0]?.event).toMatchObject({ toolCallName: "research", parentMessageId: call?.toolCallId });
    // The subagent's own result comes first, then the parent's, which is the same.
    expect(results.map(({ event }) => event.toolCallId)).toEqual([
      chunks[0]?.event.toolCallId,
      call?.toolCallId,
    ]);
    expect(results[0]?.event.content).toBe(results[1]?.event.content);
    expect(names.indexOf("TOOL_CALL_CHUNK")).toBeLessThan(names.indexOf("TOOL_CALL_RESULT"));
    const lived = JSON.parse(`${chunks.map(({ event }) => event.delta).join("")}]}`);
    expect(lived.happened).toContainEqual(expect.objectContaining({ text: "Found it." }));
    for (const version of ["1.0.0", "0.0.59", "0.0.58"] as const) await verify(frames, version);
  });

  it("case 089: the encoding can be asked for by request", async () => {
    await using host = await startTestHost();
    const native = await collect(await host.post(prompt, { query: "?subagents=native" }));
    expect(native.map(nameOf)).toContain("SUBAGENT_STARTED");
    const custom = await collect(
      await host.post(prompt, { runId: "run-2", query: "?subagents=custom", protocolVersion: "1.0" }),
    );
    expect(custom.map(nameOf)).toContain("CUSTOM(subagent.started)");
    expect((await host.post(prompt, { query: "?subagents=loud" })).status).toBe(400);
  });
});
