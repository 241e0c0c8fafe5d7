import { expect, test } from "vitest";
import { TurnFence } from "./turn-fence.js";

function fence() {
  const seen: string[] = [];
  const gate = new TurnFence((method) => seen.push(method));
  const say = (method: string, threadId?: string, turnId?: string) =>
    gate.notification(method, {
      ...(threadId === undefined ? {} : { threadId }),
      ...(turnId === undefined ? {} : { turnId }),
    });
  return { gate, seen, say };
}

test("what belongs to nobody is let through at once", () => {
  const { seen, say } = fence();
  say("warning");
  expect(seen).toEqual(["warning"]);
});

test("what comes before the ids are known waits, in order; what is foreign is dropped", () => {
  const { gate, seen, say } = fence();
  say("a", "t", "u");
  say("b", "other", "u");
  say("c", "t", "earlier");
  say("d", "t");
  gate.openThread("t");
  expect(seen).toEqual(["d"]);
  say("e", "t", "u");
  gate.openTurn("u");
  expect(seen).toEqual(["d", "a", "e"]);
  say("f", "t", "earlier");
  say("g", "other", "u");
  expect(seen).toEqual(["d", "a", "e"]);
});

test("the start of a turn opens it, also before the answer that names it, and a second one later", () => {
  const { gate, seen, say } = fence();
  gate.openThread("t");
  say("item", "t", "u");
  gate.notification("turn/started", { threadId: "t", turn: { id: "u" } });
  expect(seen).toEqual(["turn/started", "item"]);
  say("late", "t", "v");
  gate.notification("turn/started", { threadId: "other", turn: { id: "v" } });
  gate.notification("turn/started", { threadId: "t", turn: { id: "v" } });
  say("item2", "t", "v");
  expect(seen).toEqual(["turn/started", "item", "turn/started", "item2"]);
});
