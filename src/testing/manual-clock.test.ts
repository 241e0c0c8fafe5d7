import { describe, expect, test } from "vitest";
import { sleep } from "../core/clock.js";
import { ManualClock } from "./manual-clock.js";

describe("ManualClock", () => {
  test("fires due timers in order, ties in the order they were made, and leaves later ones", async () => {
    const clock = new ManualClock(1000);
    const fired: string[] = [];
    clock.timer(20, () => fired.push(`b@${clock.now()}`));
    clock.timer(10, () => fired.push(`a@${clock.now()}`));
    clock.timer(20, () => fired.push(`c@${clock.now()}`));
    clock.timer(31, () => fired.push("never"));
    await clock.advance(30);
    expect(fired).toEqual(["a@1010", "b@1020", "c@1020"]);
    expect(clock.now()).toBe(1030);
    expect(clock.pending).toBe(1);
    expect(clock.next).toBe(1);
  });

  test("lets promises react between timers, so that a chain of sleeps fits into one advance", async () => {
    const clock = new ManualClock();
    const start = clock.now();
    const seen: number[] = [];
    const chain = (async () => {
      for (let step = 0; step < 3; step++) {
        await sleep(clock, 10);
        seen.push(clock.now() - start);
      }
    })();
    await clock.advance(30);
    await chain;
    expect(seen).toEqual([10, 20, 30]);
    expect(clock.pending).toBe(0);
  });

  test("a cancelled timer never fires; cancelling twice is fine", async () => {
    const clock = new ManualClock();
    let fired = false;
    const timer = clock.timer(1, () => {
      fired = true;
    });
    timer.cancel();
    timer.cancel();
    await clock.advance(5);
    expect(fired).toBe(false);
  });
});
