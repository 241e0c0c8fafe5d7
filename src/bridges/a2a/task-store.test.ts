import { expect, it } from "vitest";
import { createMemoryJournal } from "../../journal/memory-journal.js";
import { ManualClock } from "../../testing/manual-clock.js";
import type { FaceEvent } from "./face-host.js";
import { FaceTask } from "./face-task.js";
import { exposurePolicy } from "./options.js";
import { userMessage } from "./parts.js";
import { TaskStore } from "./task-store.js";

const journal = createMemoryJournal<FaceEvent>();

function task(taskId: string): FaceTask {
  return new FaceTask({
    taskId,
    contextId: "c",
    exposure: exposurePolicy(),
    asks: true,
    journal,
    thread: "t",
    startedAt: 0,
    now: () => 0,
    reading: () => () => undefined,
  });
}

it("forgets ended tasks beyond its bound, those that ended first before the others, and their messages with them", () => {
  const store = new TaskStore({ clock: new ManualClock(), ttlMs: 1_000, maxEnded: 2 });
  const message = userMessage("m", { taskId: "", contextId: "" }, "x");
  for (const id of ["a", "b", "c", "working"]) store.add("scope", task(id));
  const [first] = store.list("scope");
  if (first === undefined) throw new Error("no task");
  store.took("scope", message, first);
  expect(store.duplicate("scope", message)).toBe(first);
  expect(store.duplicate("other", message)).toBeUndefined();
  for (const id of ["a", "c", "b"]) {
    const ended = store.get("scope", id);
    if (ended !== undefined) store.end(ended, 1_767_225_600_000);
  }
  expect(store.list("scope").map(({ id }) => id)).toEqual(["b", "c", "working"]);
  expect(store.duplicate("scope", message)).toBeUndefined();
  expect(store.get("other", "b")).toBeUndefined();
});
