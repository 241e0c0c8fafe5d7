import { expect, it } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import { createProgress } from "./progress.js";

function bench(isTTY: boolean) {
  const clock = new ManualClock();
  let text = "";
  const screen = {
    isTTY,
    columns: 60,
    write: (more: string) => {
      text += more;
    },
  };
  return { clock, progress: createProgress(screen, clock), shown: () => text };
}

it("says what takes longer than a second, and takes it back", async () => {
  const { clock, progress, shown } = bench(true);
  let finish = () => {};
  const slow = progress.during("research", new Promise<void>((resolve) => (finish = resolve)));
  await progress.during("claude", Promise.resolve());
  await clock.advance(999);
  expect(shown()).toBe("");
  await clock.advance(1);
  expect(shown()).toMatch(/0:01 waiting for research/);
  expect(shown()).not.toContain("claude");
  await clock.advance(1_000);
  expect(shown()).toContain("0:02");
  finish();
  await slow;
  progress.close();
  expect(shown().endsWith("\r\u001b[2K")).toBe(true);
  const before = shown();
  await clock.advance(5_000);
  expect(shown()).toBe(before);
});

it("says nothing where no person looks", async () => {
  const { clock, progress, shown } = bench(false);
  void progress.during("research", new Promise(() => undefined));
  await clock.advance(5_000);
  progress.close();
  expect(shown()).toBe("");
});

it("a failure of the work is the caller's", async () => {
  const { progress } = bench(true);
  await expect(progress.during("x", Promise.reject(new Error("no")))).rejects.toThrow("no");
  progress.close();
});
