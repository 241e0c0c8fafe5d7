import { describe, expect, it } from "vitest";
import { ask, endsOf, Fleet, get, type HostProcess, post, until } from "../support/fleet.js";
import { collect, type Frame, subagentText } from "../support/frames.js";
import { noRedis } from "../support/redis-server.js";
import { verify } from "../support/verify.js";

const PIECES = 150;

/** What is on record so far. */
async function recordAt(host: HostProcess, threadId: string): Promise<Frame[]> {
  return collect(await post(host, `/threads/${threadId}/connect`));
}

const runsIn = (frames: readonly Frame[]) =>
  frames.filter(({ event }) => event.type === "RUN_STARTED").length;

describe.skipIf(noRedis !== undefined)(`three hosts${noRedis ? ` (${noRedis})` : ""}`, () => {
  it("the owner of a delegation is killed, then its heir: the third follows it to its end, each word once", async () => {
    await using fleet = await Fleet.start({ policy: { onRunEnd: "detach" }, leaseMs: 700 }, { paceMs: 50 });
    const [owner, heir, third] = await Promise.all([
      fleet.host(),
      fleet.host({ takeoverMs: 50 }),
      // So late that it is not the first to look.
      fleet.host({ takeoverMs: 3_000 }),
    ]);
    const { threadId, runId, response } = await ask(owner, `#chunks ${PIECES}`);
    await until(response, "subagent.text.delta");
    await fleet.kill(owner);
    await expect.poll(async () => runsIn(await recordAt(third, threadId))).toBe(2);
    await fleet.kill(heir);
    await expect.poll(async () => runsIn(await recordAt(third, threadId))).toBe(3);
    const states = async () => {
      const { delegations } = await get(third, `/runs/${runId}/delegations`);
      return delegations.map(({ status }: { status: string }) => status);
    };
    await expect.poll(states).toEqual(["completed"]);
    const record = await recordAt(third, threadId);
    await verify(record);
    expect(endsOf(record).filter((name) => name.startsWith("CUSTOM"))).toEqual(["CUSTOM(subagent.finished)"]);
    expect(endsOf(record).filter((name) => name.startsWith("RUN"))).toHaveLength(3);
    const pieces = Array.from({ length: PIECES }, (_, index) => `piece ${index + 1} `);
    expect(subagentText(record)).toBe(pieces.join(""));
    expect(await fleet.sent()).toBe(1);
  });
});
