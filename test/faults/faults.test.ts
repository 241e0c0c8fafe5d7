import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MarkedRun, markOf } from "../../src/drivers/process/orphans.js";
import { endsOf } from "../support/fleet.js";
import { type Frame, subagentText } from "../support/frames.js";
import { noRedis } from "../support/redis-server.js";
import { verify } from "../support/verify.js";
import { type Outcome, Pair } from "./pair.js";
import { type Schedule, scheduleOf } from "./schedule.js";

// Schedules by seed; FAULT_SEED tries one alone, FAULT_SCHEDULES another number.
const { FAULT_SEED, FAULT_SCHEDULES = "60", FAULT_FIRST = "1" } = process.env;
const seeds =
  FAULT_SEED === undefined
    ? Array.from({ length: Number(FAULT_SCHEDULES) }, (_, index) => Number(FAULT_FIRST) + index)
    : [Number(FAULT_SEED)];

describe.skipIf(noRedis !== undefined)(
  `two hosts, a browser, and what goes wrong${noRedis ? ` (${noRedis})` : ""}`,
  () => {
    const pairs = new Map<string, Promise<Pair>>();
    beforeAll(async () => {
      for (const onRunEnd of ["cancel", "detach"] as const) pairs.set(onRunEnd, Pair.start(onRunEnd));
      await Promise.all(pairs.values());
    });
    afterAll(async () => {
      for (const pair of pairs.values()) await (await pair)[Symbol.asyncDispose]();
    });
    const play = async (schedule: Schedule) => {
      const pair = await pairs.get(schedule.onRunEnd);
      if (pair === undefined) throw new Error("there are no hosts");
      await check(schedule, await pair.play(schedule));
    };

    it.each(
      seeds
        .map((seed) => [seed, scheduleOf(seed)] as const)
        .map(
          ([seed, schedule]) =>
            [
              `seed ${seed}: ${schedule.fault} after ${schedule.after} frames, ${schedule.onRunEnd}`,
              schedule,
            ] as const,
        ),
    )("%s", (_title, schedule) => play(schedule));

    // A scripted run whose host is killed after each of its frames.
    const plain = { seed: 0, prompt: "#say one.\n#artifact a.md 100\n#say two.", text: "one.two." };
    it.each(Array.from({ length: FAULT_SEED === undefined ? 26 : 0 }, (_, index) => [index + 1] as const))(
      "killed after frame %i",
      (after) =>
        play({
          ...plain,
          fault: "kill the host that runs it",
          after,
          onRunEnd: after % 2 === 0 ? "cancel" : "detach",
        }),
    );
  },
);

async function check({ text, fault }: Schedule, outcome: Outcome): Promise<void> {
  const { record, seen, delegations, threadId, runId, sent, status } = outcome;
  await verify(record);
  const ends = endsOf(record);
  // Each delegation has one end, and each run that was opened.
  expect(ends.filter((name) => name.startsWith("CUSTOM"))).toHaveLength(delegations.length);
  expect(ends.filter((name) => name.startsWith("RUN"))).toHaveLength(
    record.filter(({ event }) => event.type === "RUN_STARTED").length,
  );
  // No remote task was started twice, nothing was said twice or out of order, and what ended well is whole.
  expect(sent).toBeLessThanOrEqual(1);
  expect(text.startsWith(subagentText(record))).toBe(true);
  for (const { status } of delegations) if (status === "completed") expect(subagentText(record)).toBe(text);
  if (fault === "none" || fault === "restart Redis" || fault === "cut the remote's stream") {
    expect(status).toBe("finished");
    expect(delegations.map(({ status }) => status)).toEqual(["completed"]);
  }
  // Whatever a browser was shown is on record, at its place; and it missed nothing.
  const withIds = (frames: readonly Frame[]) => frames.filter(({ id }) => id !== undefined);
  expect(withIds(seen)).toEqual(withIds(record));
  await expect.poll(() => programsOf({ thread: `/${threadId}`, runId })).toEqual([]);
}

/** Processes of a run that are still there. */
function programsOf(run: MarkedRun): string[] {
  const [mark] = Object.entries(markOf(run)).map(([name, value]) => `${name}=${value}`);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((id) => {
      try {
        return readFileSync(`/proc/${id}/environ`, "latin1")
          .split("\0")
          .includes(mark ?? "");
      } catch {
        return false;
      }
    });
}
