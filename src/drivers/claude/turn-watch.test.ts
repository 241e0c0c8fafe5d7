import { expect, test } from "vitest";
import { ManualClock } from "../../testing/manual-clock.js";
import { TurnWatch } from "./turn-watch.js";

const RESULT = { type: "result" };
const tasks = (...types: string[]) => ({
  type: "system",
  subtype: "background_tasks_changed",
  tasks: types.map((task_type) => ({ task_type })),
});

function watch() {
  const clock = new ManualClock();
  const state = { done: 0 };
  const turns = new TurnWatch(clock, 5_000, () => {
    state.done += 1;
  });
  turns.prompted();
  return { clock, state, turns };
}

test("a result without work in the background is the end", () => {
  const { state, turns } = watch();
  expect(turns.working).toBe(true);
  turns.frame(RESULT);
  expect(state.done).toBe(1);
  expect(turns.working).toBe(false);
});

test("a native subagent in the background keeps the run open until it has woken the model", async () => {
  const { clock, state, turns } = watch();
  for (const frame of [tasks("local_agent"), RESULT]) turns.frame(frame);
  await clock.advance(3_600_000);
  expect(state.done).toBe(0);
  expect(turns.working).toBe(true);
  turns.frame(tasks());
  turns.frame({ type: "system", subtype: "status", status: "requesting" });
  await clock.advance(3_600_000);
  expect(state.done).toBe(0);
  turns.frame(RESULT);
  expect(state.done).toBe(1);
});

test("a subagent that ends without waking the model does not keep the run open for ever", async () => {
  const { clock, state, turns } = watch();
  for (const frame of [tasks("local_agent"), RESULT, tasks()]) turns.frame(frame);
  await clock.advance(4_999);
  expect(state.done).toBe(0);
  await clock.advance(1);
  expect(state.done).toBe(1);
});

test("a shell in the background is not waited for", () => {
  const { state, turns } = watch();
  for (const frame of [tasks("local_bash"), RESULT]) turns.frame(frame);
  expect(state.done).toBe(1);
});

test("closing leaves no timer", () => {
  const { clock, turns } = watch();
  for (const frame of [tasks("local_agent"), RESULT, tasks()]) turns.frame(frame);
  turns.close();
  expect(clock.pending).toBe(0);
});
