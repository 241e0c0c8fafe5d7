import { get } from "node:http";
import { describe, expect, it } from "vitest";
import { ask, endsOf, Fleet, get as ofRoute, readThread, until } from "../support/fleet.js";
import { collect, subagentText } from "../support/frames.js";
import { noRedis } from "../support/redis-server.js";

const RECONNECTS = 10_000;
const AT_ONCE = 25;

/** What a busy host needs, and no more: if each connection left 8 kB behind, it would die of it. */
const HEAP_MB = 110;

/** Connects, reads the beginning or nothing at all, and is gone. */
function breakOff(url: string, lastEventId: string, reads: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers: { "last-event-id": lastEventId }, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      const leave = () => request.destroy();
      response.on("error", () => undefined);
      if (reads) response.once("data", leave);
      else leave();
    });
    request.on("error", () => undefined);
    request.on("close", resolve);
  });
}

describe.skipIf(noRedis !== undefined)(`a host under pressure${noRedis ? ` (${noRedis})` : ""}`, () => {
  it(`${RECONNECTS} connections that are broken off leave nothing behind, and change nothing`, async () => {
    await using fleet = await Fleet.start({}, { paceMs: 200 });
    const host = await fleet.host({}, { heapMb: HEAP_MB });
    const { threadId, response } = await ask(host, "#chunks 60");
    const running = collect(response);
    let left = RECONNECTS;
    const reconnect = async () => {
      while (left-- > 0) {
        await breakOff(`${host.url}/threads/${threadId}/events`, String(left % 40), left % 2 === 0);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, reconnect));
    const frames = await running;
    expect(endsOf(frames)).toEqual(["CUSTOM(subagent.finished)", "RUN_FINISHED"]);
    expect(subagentText(await readThread(host, threadId))).toBe(subagentText(frames));
  }, 300_000);

  it("Redis away for longer than the bound: clear refusals, nothing hangs, and all is well when it is back", async () => {
    await using fleet = await Fleet.start({ outageMs: 1_000 });
    const host = await fleet.host();
    const open = await ask(host, "#say Before.\n#hang");
    await until(open.response, "subagent.text.delta");
    await fleet.redis.kill();
    const refused = await ask(host, "Hello");
    expect([refused.response.status, await refused.response.json()]).toMatchObject([
      503,
      { error: { code: "journal_unavailable", retryable: true } },
    ]);
    expect((await fetch(`${host.url}/healthz`)).status).toBe(200);
    await fleet.redis.restart();
    const after = await ask(host, "#say After.");
    expect(endsOf(await collect(after.response))).toEqual(["CUSTOM(subagent.finished)", "RUN_FINISHED"]);
    await fetch(`${host.url}/runs/${open.runId}/cancel`, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" },
    });
    await expect.poll(async () => (await ofRoute(host, `/runs/${open.runId}`)).status).not.toBe("running");
    expect(endsOf(await readThread(host, open.threadId)).at(-1)).toMatch(/^RUN_/);
  });
});
