import { describe, expect, it } from "vitest";
import { whyNoSqlite } from "../../src/journal/sqlite-module.js";
import { ask, endsOf, Fleet, get, type HostProcess, post, readThread } from "../support/fleet.js";
import { collect, type Frame, framesOf, subagentText } from "../support/frames.js";
import { noRedis } from "../support/redis-server.js";
import { verify } from "../support/verify.js";
import { noSetClock, SetClock } from "./set-clock.js";
import { childrenOf, delegationsOf, Site, stop } from "./sole-host.js";

const HOUR_S = 3_600;
/** Longer than the leases of the hosts on Redis. */
const PROMPT = "#say one.\n#delay 900\n#say two.\n#delay 900\n#say three.";

/** Reads a run to its end, and does something at each new piece of the subagent's text. */
async function readWhile(response: Response, onText: (said: string) => void): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of framesOf(response)) {
    frames.push(frame);
    if (frame.event.name === "subagent.text.delta") onText(subagentText(frames));
  }
  return frames;
}

/** The run ended well, once, and its record is in order whatever the time said. */
async function expectWell(host: HostProcess, threadId: string, frames: readonly Frame[]): Promise<void> {
  const record = await readThread(host, threadId);
  await verify(record);
  expect(record.filter(({ id }) => id !== undefined)).toEqual(frames.filter(({ id }) => id !== undefined));
  const cursors = record.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
  expect(cursors).toEqual([...new Set(cursors)].sort((one, other) => one - other));
  expect(endsOf(record)).toEqual(["CUSTOM(subagent.finished)", "RUN_FINISHED"]);
  expect(subagentText(record)).toBe("one.two.three.");
}

const noSqlite = await whyNoSqlite();
const problem = noSetClock ?? noSqlite;

describe.skipIf(problem !== undefined)(
  `a clock that is set, on SQLite${problem ? ` (${problem})` : ""}`,
  () => {
    it.concurrent.each([
      ["forward", HOUR_S],
      ["backward", -HOUR_S],
    ])(
      "by an hour %s in mid-run: no limit of time is reached, and the stream stays alive",
      async (_, seconds) => {
        using clock = new SetClock();
        await using site = await Site.start();
        const policy = { idleTimeoutMs: 3_000, maxTimeoutMs: 20_000 };
        const host = await site.host({ options: { policy, heartbeatMs: 150 }, env: clock.env });
        const { threadId, runId, response } = await ask(host, PROMPT);
        const [own, raw] = response.body?.tee() ?? [];
        const comments = new Response(raw ?? null).text();
        const frames = await readWhile(new Response(own ?? null), (said) => {
          if (said === "one.") clock.set(seconds);
          if (said === "one.two.") clock.set(0);
        });
        await expectWell(host, threadId, frames);
        const times = frames.map(({ event }) => Number(event.timestamp)).filter(Number.isFinite);
        expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(HOUR_S * 900);
        expect((await comments).split("\n").filter((line) => line.startsWith(":")).length).toBeGreaterThan(5);
        expect(await delegationsOf(host, runId)).toEqual(["completed"]);
        expect(await site.sent()).toBe(1);
        expect(childrenOf(host.child.pid)).toEqual([]);
        expect(await stop(host)).toBe(0);
      },
    );

    it.concurrent.each([
      ["forward", HOUR_S],
      ["backward", -HOUR_S],
    ])("by an hour %s: a silent remote is given up all the same", async (_, seconds) => {
      using clock = new SetClock();
      await using site = await Site.start();
      const policy = { idleTimeoutMs: 1_000, cancelTimeoutMs: 1_000 };
      const host = await site.host({ options: { policy }, env: clock.env });
      const { runId, response } = await ask(host, "#say one.\n#hang");
      const frames = await readWhile(response, () => clock.set(seconds));
      expect(endsOf(frames)).toHaveLength(2);
      const { delegations } = await get(host, `/runs/${runId}/delegations`);
      expect(delegations).toMatchObject([{ stop: { cause: "deadline" } }]);
      expect(await stop(host)).toBe(0);
    });

    it.concurrent("a host a day ahead on the same file leaves alone what runs, and what has just ended", async () => {
      using clock = new SetClock();
      clock.set(24 * HOUR_S);
      await using site = await Site.start();
      const host = await site.host();
      const { threadId, response } = await ask(host, PROMPT);
      let ahead: Promise<HostProcess> | undefined;
      const frames = await readWhile(response, () => {
        ahead ??= site.host({ env: clock.env });
      });
      await expectWell(host, threadId, frames);
      const other = await ahead;
      if (other === undefined) throw new Error("It never said anything.");
      await expectWell(other, threadId, frames);
      expect(await site.sent()).toBe(1);
    });
  },
);

const noFleet = noSetClock ?? noRedis;

describe.skipIf(noFleet !== undefined)(
  `a clock that is set, on Redis${noFleet ? ` (${noFleet})` : ""}`,
  () => {
    it.each([
      ["forward", HOUR_S],
      ["backward", -HOUR_S],
    ])("by an hour %s at both hosts in turn: nobody is taken for dead", async (_, seconds) => {
      using clockOfOne = new SetClock();
      using clockOfTwo = new SetClock();
      await using fleet = await Fleet.start();
      const host = ({ env }: SetClock) => fleet.host({ leaseMs: 700, takeoverMs: 100 }, { env });
      const [one, two] = await Promise.all([host(clockOfOne), host(clockOfTwo)]);
      const { threadId, runId, response } = await ask(one, PROMPT);
      const frames = await readWhile(response, (said) => {
        if (said === "one.") clockOfOne.set(seconds);
        if (said === "one.two.") clockOfTwo.set(seconds);
      });
      await expectWell(two, threadId, frames);
      expect(await get(two, `/runs/${runId}`)).toMatchObject({ status: "finished" });
      expect(await fleet.sent()).toBe(1);
      const after = await ask(two, "#say After.", { threadId, runId: "after" });
      expect(endsOf(await collect(after.response))).toEqual(["CUSTOM(subagent.finished)", "RUN_FINISHED"]);
      const record = await collect(await post(one, `/threads/${threadId}/connect`));
      await verify(record);
    });
  },
);
