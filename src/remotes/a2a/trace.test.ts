import { Artifact } from "@a2a-js/sdk";
import { describe, expect, it } from "vitest";
import { ArtifactAssembler } from "./artifacts.js";
import { ToolTraffic } from "./tool-traffic.js";

const extensions = ["urn:x-a2a:trace:v1"];

function artifact(artifactId: string, data: unknown, more: object = {}): Artifact {
  const name = /^trace(?:\.[a-z]+)+/.exec(artifactId)?.[0] ?? artifactId;
  return Artifact.fromJSON({ artifactId, name, parts: [{ data }], extensions, ...more });
}

function assembler(): ArtifactAssembler {
  return new ArtifactAssembler(new ToolTraffic((text) => text));
}

describe("trace artifacts", () => {
  it("of a call are its start, its arguments, its end and its result, each once, also when a snapshot shows them again", () => {
    const traces = assembler();
    const start = artifact("trace.mcp.start-c", { tool: "Bash", toolCallId: "c" });
    const asked = artifact("trace.mcp.start-c", { tool: "Bash", toolCallId: "c", request: "{}" });
    const end = artifact("trace.mcp-c", { tool: "Bash", toolCallId: "c", status: "failed", response: "no" });
    const seen = [start, asked, end].flatMap((one) => traces.update(one, false, true));
    expect(seen).toEqual([
      { type: "tool.start", toolCallId: "c", name: "Bash" },
      { type: "tool.args", toolCallId: "c", delta: "{}" },
      { type: "tool.end", toolCallId: "c" },
      { type: "tool.result", toolCallId: "c", content: "no", isError: true },
    ]);
    expect([asked, end].flatMap((one) => traces.snapshot(one, true))).toEqual([]);
    expect([asked, end].flatMap((one) => assembler().snapshot(one, true)).length).toBeGreaterThan(0);
  });

  it("without a call's id tell the whole call at its end, as a2a-wrapper sends them", () => {
    const traces = assembler();
    expect(
      traces.update(artifact("trace.mcp.start-1", { tool: "query", request: { q: 1 } }), false, true),
    ).toEqual([]);
    const end = artifact("trace.mcp-2", { tool: "query", request: { q: 1 }, response: { rows: 2 } });
    expect(traces.update(end, false, true)).toEqual([
      { type: "tool.start", toolCallId: "trace.mcp-2", name: "query" },
      { type: "tool.args", toolCallId: "trace.mcp-2", delta: '{"q":1}' },
      { type: "tool.end", toolCallId: "trace.mcp-2" },
      { type: "tool.result", toolCallId: "trace.mcp-2", content: '{"rows":2}', isError: false },
    ]);
  });

  it("of thoughts are reasoning that grows", () => {
    const traces = assembler();
    const seen = ["", "h", "m"].flatMap((content, index) =>
      traces.update(artifact("trace.thinking-r", { content }), index > 0, false),
    );
    expect(seen.map((signal) => (signal.type === "reasoning" ? signal.delta : signal))).toEqual(["h", "m"]);
  });

  it("of other kinds, and what cannot be read, are nothing, and never files", () => {
    for (const odd of [
      artifact("trace.lifecycle-1", { state: "started" }),
      artifact("trace.usage-1", { inputTokens: 1 }),
      artifact("trace.mcp-1", "text"),
      artifact("trace.mcp-1", null),
      Artifact.fromJSON({ artifactId: "trace.mcp-1", name: "trace.mcp", parts: [], extensions }),
    ]) {
      expect(assembler().update(odd, false, true)).toEqual([]);
      expect(assembler().snapshot(odd, true)).toEqual([]);
    }
  });
});

it("an agent of Troupe's result is its words once more, so it is no file; a result without words is", () => {
  const result = artifact("agent-adaptor-result", { status: "completed", summary: "Hi" }, { extensions: [] });
  const heard = assembler();
  heard.update(Artifact.fromJSON({ artifactId: "assistant-output", parts: [{ text: "Hi" }] }), false, true);
  expect(heard.update(result, false, true)).toEqual([]);
  expect(
    assembler()
      .update(result, false, true)
      .map(({ type }) => type),
  ).toContain("artifact");
});
