import { describe, expect, it, vi } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import { sleep, systemClock, withinTime } from "./clock.js";

describe("sleep", () => {
  it("ends when the time is over, or early when its signal aborts; never leaves a timer", async () => {
    const clock = new ManualClock();
    const done = vi.fn();
    void sleep(clock, 100).then(done);
    await clock.advance(99);
    expect(done).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(done).toHaveBeenCalledOnce();
    const controller = new AbortController();
    const sleeping = sleep(clock, 100, controller.signal);
    controller.abort();
    await sleeping;
    await sleep(clock, 100, controller.signal);
    expect(clock.pending).toBe(0);
  });
});

describe("withinTime", () => {
  it("gives the value in time, undefined otherwise, and never leaves a timer", async () => {
    const clock = new ManualClock();
    expect(await withinTime(clock, 100, Promise.resolve(7))).toBe(7);
    const late = withinTime(clock, 100, new Promise(() => undefined));
    await clock.advance(100);
    expect(await late).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  it("throws an early rejection and swallows a late one", async () => {
    const clock = new ManualClock();
    await expect(withinTime(clock, 100, Promise.reject(new Error("early")))).rejects.toThrow("early");
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    let reject: (error: Error) => void = () => undefined;
    const late = withinTime(clock, 100, new Promise((_resolve, onReject) => (reject = onReject)));
    await clock.advance(100);
    reject(new Error("late"));
    expect(await late).toBeUndefined();
    await clock.advance(0);
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

it("the system's clock takes delays that would overflow Node's timers", () => {
  const timeout = vi.spyOn(globalThis, "setTimeout");
  systemClock.timer(Number.MAX_SAFE_INTEGER, () => undefined).cancel();
  expect(timeout.mock.lastCall?.[1]).toBe(2_147_483_647);
  timeout.mockRestore();
});
