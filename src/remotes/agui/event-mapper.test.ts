import { expect, test } from "vitest";
import type { RemoteSignal } from "../../delegation/remote.js";
import { EventMapper } from "./event-mapper.js";

const FINISHED = { type: "RUN_FINISHED", threadId: "t", runId: "r" };

function play(...events: unknown[]): RemoteSignal[] {
  const mapper = new EventMapper({ messageId: "own" });
  return [...events.flatMap((event) => mapper.map(event)), ...mapper.end()];
}

test("a piece of a long text costs what a piece of a short one does", () => {
  const mapper = new EventMapper({ messageId: "own" });
  const delta = "twenty characters of";
  const piece = { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta };
  let said = 0;
  for (let count = 0; count < 200_000; count++) said += mapper.map(piece).length;
  expect(said).toBe(200_000);
  expect([...mapper.map(FINISHED), ...mapper.end()]).toEqual([{ type: "completed" }]);
});

test("white space alone is no word, and the closing words are told", () => {
  const said = { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: " \n" };
  expect(play(said, { ...FINISHED, result: "Closing." })).toEqual([
    { type: "text", messageId: "m", delta: " \n" },
    { type: "completed", message: "Closing." },
  ]);
});

test.each([
  ["a question", { type: "CUSTOM", name: "on_interrupt", value: "[".repeat(40_000) + "]".repeat(40_000) }],
  [
    "a question's schema",
    {
      type: "CUSTOM",
      name: "on_interrupt",
      value: { message: "Which?", responseSchema: `{"a":${"[".repeat(40_000)}${"]".repeat(40_000)}}` },
    },
  ],
])("JSON within text that is nested without end: %s is asked all the same", (_what, event) => {
  expect(play(event, FINISHED)).toEqual([{ type: "input_required", prompt: expect.any(String) }]);
});
