import { describe, expect, it } from "vitest";
import { ownersOfCard } from "../../console/src/search/places.js";
import { MOST_MATCHES, searchThread } from "../../console/src/search/search-thread.js";
import { createThreadView } from "../../src/client/thread-view.js";

function viewOf(texts: readonly string[] = []) {
  const reducer = createThreadView();
  const apply = (type: string, members: object) => reducer.apply({ event: { type, ...members } });
  const subagent = (change: string, value: object = {}) => {
    const told = { runId: "run-1", parentToolCallId: "tool-1", delegationId: "del-1", agentName: "Painter" };
    apply("CUSTOM", { name: `subagent.${change}`, value: { ...told, ...value } });
  };
  apply("RUN_STARTED", {
    runId: "run-1",
    input: { messages: [{ id: "u", role: "user", content: "Draw a Heron" }] },
  });
  apply("TEXT_MESSAGE_CONTENT", { messageId: "m", delta: "I ask the painter." });
  apply("TOOL_CALL_START", { toolCallId: "tool-1", toolCallName: "delegate_to_agent" });
  apply("TOOL_CALL_ARGS", { toolCallId: "tool-1", delta: '{"task":"a bird"}' });
  subagent("started", { objective: "Draw a bird" });
  subagent("text.delta", { messageId: "s", delta: "Feathers first." });
  subagent("tool.start", { toolCallId: "own", name: "mix_colours" });
  subagent("artifact", { artifact: { id: "a", name: "heron.png" } });
  for (const [index, delta] of texts.entries())
    apply("TEXT_MESSAGE_CONTENT", { messageId: `t${index}`, delta });
  return reducer.view;
}

describe("the search in a thread", () => {
  it.each([
    [
      "heron",
      [
        ["run-1:you:0", ["run-1"]],
        ["del-1", ["run-1"]],
      ],
    ],
    ["ASK THE", [["run-1:0", ["run-1"]]]],
    [
      "a bird",
      [
        ["run-1:1", ["run-1"]],
        ["del-1", ["run-1"]],
      ],
    ],
    ["feathers", [["del-1:0", ["run-1", "del-1"]]]],
    ["mix_", [["del-1:1", ["run-1", "del-1"]]]],
    ["delegate_to", [["run-1:1", ["run-1"]]]],
    [
      "painter",
      [
        ["run-1:0", ["run-1"]],
        ["del-1", ["run-1"]],
      ],
    ],
    ["no such word", []],
    ["  ", []],
  ])("finds %j where it stands, with what has to be unfolded for it", (query, expected) => {
    expect(searchThread(viewOf(), query).map(({ place, owners }) => [place, owners])).toEqual(expected);
  });

  it("stops counting at a bound", () => {
    const view = viewOf(Array.from({ length: MOST_MATCHES + 5 }, () => "again"));
    expect(searchThread(view, "again")).toHaveLength(MOST_MATCHES);
  });

  it("knows what is around a card, also when its call is not known", () => {
    const [run] = viewOf().runs;
    expect(run && ownersOfCard(run, "del-1")).toEqual(["run-1"]);
    expect(run && ownersOfCard(run, "unknown")).toEqual(["run-1"]);
  });
});
