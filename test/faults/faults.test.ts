import { readdirSync, readFileSync } from "node:fs";
import { afterAll, describe, type ExpectStatic, it } from "vitest";
import { type MarkedRun, markOf } from "../../src/drivers/process/orphans.js";
import { endsOf } from "../support/fleet.js";
import { type Frame, subagentText } from "../support/frames.js";
import { noRedis } from "../support/redis-server.js";
import { verify } from "../support/verify.js";
import { Lanes } from "./lanes.js";
import type { Outcome } from "./pair.js";
import { cutAfter, type Schedule, scheduleOf } from "./schedule.js";

// Schedules by seed; FAULT_SEED tries one alone, FAULT_SCHEDULES another number.
const { FAULT_SEED, FAULT_SCHEDULES = "60", FAULT_FIRST = "1" } = process.env;
const seeds =
  FAULT_SEED === undefined
    ? Array.from({ length: Number(FAULT_SCHEDULES) }, (_, index) => Number(FAULT_FIRST) + index)
    : [Number(FAULT_SEED)];

describe.skipIf(noRedis !== undefined)(
  `two hosts, a browser, and what goes wrong${noRedis ? ` (${noRedis})` : ""}`,
  () => {
    const lanes = new Lanes();
    afterAll(() => lanes[Symbol.asyncDispose]());
    const play = (schedule: Schedule, expect: ExpectStatic) =>
      lanes.use(schedule.onRunEnd, async (pair) => check(schedule, await pair.play(schedule), expect));

    const titled = seeds.map(scheduleOf).map((schedule) => {
      const { seed, fault, after, onRunEnd } = schedule;
      return [`seed ${seed}: ${fault} after ${after} frames, ${onRunEnd}`, schedule] as const;
    });
    it.concurrent.for(titled)("%s", ([, schedule], { expect }) => play(schedule, expect));

    // A scripted run whose host is killed after each of its frames.
    const plain = { seed: 0, prompt: "#say one.\n#artifact a.md 100\n#say two.", text: "one.two." };
    const places = Array.from({ length: FAULT_SEED === undefined ? 26 : 0 }, (_, index) => index + 1);
    it.concurrent.for(places)("killed after frame %i", (after, { expect }) => {
      const onRunEnd = after % 2 === 0 ? "cancel" : "detach";
      return play({ ...plain, fault: "kill the host that runs it", after, onRunEnd }, expect);
    });
  },
);

async function check(schedule: Schedule, outcome: Outcome, expect: ExpectStatic): Promise<void> {
  const { text, fault } = schedule;
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
    // A task that was not named yet when its stream broke cannot be found, and is not sent once more.
    const isNameless = fault === "cut the remote's stream" && cutAfter(schedule) === 0;
    expect(delegations.map(({ status }) => status)).toEqual([isNameless ? "failed" : "completed"]);
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
