import { TaskState } from "@a2a-js/sdk";
import { expect, it } from "vitest";
import type { TaskUpdate } from "./encoder.js";
import { agentMessage, artifactOf, dataPart, textPart, userMessage } from "./parts.js";
import { TaskView } from "./task-view.js";

const identity = { taskId: "t", contextId: "c" };

const piece = (id: string, text: string, append: boolean): TaskUpdate => ({
  $case: "artifactUpdate",
  value: {
    ...identity,
    artifact: artifactOf(id, id, [textPart(text)]),
    append,
    lastChunk: false,
    metadata: undefined,
  },
});

const status = (state: TaskState, words?: string): TaskUpdate => ({
  $case: "statusUpdate",
  value: {
    ...identity,
    status: {
      state,
      message: words === undefined ? undefined : agentMessage(words, identity, [textPart(words)]),
      timestamp: "2026-01-01T00:00:00.000Z",
    },
    metadata: undefined,
  },
});

it("keeps a text as one part, however many pieces it came in", () => {
  const view = new TaskView(identity, 0);
  for (let index = 0; index < 1_000; index++) view.apply(piece("a", "x", index > 0));
  const [artifact] = view.snapshot().artifacts;
  expect(artifact?.parts).toEqual([textPart("x".repeat(1_000))]);
  view.apply(piece("a", "y", true));
  expect(artifact?.parts[0]?.content?.value).toHaveLength(1_000);
  expect(view.snapshot().artifacts[0]?.parts[0]?.content?.value).toHaveLength(1_001);
});

it("replaces what does not append, and keeps what is no text apart", () => {
  const view = new TaskView(identity, 0);
  view.apply(piece("a", "old", false));
  view.apply(piece("a", "new", false));
  const data = artifactOf("a", "a", [dataPart(1)]);
  view.apply({
    $case: "artifactUpdate",
    value: { ...identity, artifact: data, append: true, lastChunk: false, metadata: undefined },
  });
  expect(view.snapshot().artifacts[0]?.parts).toEqual([textPart("new"), dataPart(1)]);
});

it("changes nothing after the end", () => {
  const view = new TaskView(identity, 0);
  view.apply(piece("a", "x", false));
  view.apply(status(TaskState.TASK_STATE_CANCELED));
  const end = view.snapshot();
  view.apply(piece("a", "late", true));
  view.apply(status(TaskState.TASK_STATE_COMPLETED));
  expect(view.snapshot()).toEqual(end);
});

it("keeps questions and answers in the order in which they were said", () => {
  const view = new TaskView(identity, 0);
  view.said(userMessage("1", identity, "go"));
  view.apply(status(TaskState.TASK_STATE_INPUT_REQUIRED, "may I?"));
  expect(view.snapshot().history).toHaveLength(1);
  view.said(userMessage("2", identity, "yes"));
  view.apply(status(TaskState.TASK_STATE_WORKING));
  view.apply(status(TaskState.TASK_STATE_COMPLETED, "done"));
  const order = view.snapshot().history.map(({ messageId }) => messageId);
  expect(order).toEqual(["1", "may I?", "2"]);
  expect(view.snapshot({ historyLength: 1 }).history.map(({ messageId }) => messageId)).toEqual(["2"]);
  expect(view.snapshot({ historyLength: 0 }).history).toEqual([]);
});
