import { describe, expect, it } from "vitest";
import { whyNoSqlite } from "../../src/journal/sqlite-module.js";
import { startRemote } from "../cli/remote.js";
import { makeFolder, troupe } from "../cli/troupe.js";
import { ask, endsOf, get, type HostProcess, post } from "../support/fleet.js";
import { collect, type Frame, framesOf, subagentText } from "../support/frames.js";
import { verify } from "../support/verify.js";
import { noBreakableDisk, noDisk, SmallDisk } from "./small-disk.js";
import { childrenOf, delegationsOf, Site, stop } from "./sole-host.js";

const noSqlite = await whyNoSqlite();
const problem = noSqlite ?? noDisk;
const TEXT = Array.from({ length: 60 }, (_, index) => `piece ${index + 1} `).join("");

/** Reads a run's stream to its end, and does something when it shows the first words of the subagent. */
async function readUntilBroken(response: Response, breakIt: () => void): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of framesOf(response)) {
    frames.push(frame);
    if (frame.event.name === "subagent.text.delta") breakIt();
  }
  return frames;
}

/** Does it once. */
function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}

async function endsOfThread(host: HostProcess, threadId: string): Promise<string[]> {
  return endsOf(await collect(await post(host, `/threads/${threadId}/connect`)));
}

/** A host that refuses runs lives, says why, and has nothing left of those it refused. */
async function expectRefusal(host: HostProcess, code: string): Promise<void> {
  const { response } = await ask(host, "Hello");
  expect([response.status, await response.json()]).toMatchObject([503, { error: { code } }]);
  expect((await fetch(`${host.url}/healthz`)).status).toBe(200);
  await expect.poll(() => childrenOf(host.child.pid)).toEqual([]);
}

/** What is on record is whole: nothing that was shown is missing, and each part has one end. */
async function expectWhole(host: HostProcess, threadId: string, seen: readonly Frame[]): Promise<Frame[]> {
  const record = await collect(await post(host, `/threads/${threadId}/connect`));
  await verify(record);
  const withIds = (frames: readonly Frame[]) => frames.filter(({ id }) => id !== undefined);
  expect(withIds(record).slice(0, withIds(seen).length)).toEqual(withIds(seen));
  const ends = endsOf(record);
  expect(ends.filter((name) => name.startsWith("CUSTOM"))).toHaveLength(1);
  expect(ends.filter((name) => name.startsWith("RUN"))).toHaveLength(
    record.filter(({ event }) => event.type === "RUN_STARTED").length,
  );
  return record;
}

describe.skipIf(problem !== undefined)(`a disk without room${problem ? ` (${problem})` : ""}`, () => {
  it.each([
    ["cancel", "cancelled"],
    ["detach", "completed"],
  ])(
    "in mid-run: the run ends and says why; when there is room, all is closed once, by %s, and the host works",
    async (onRunEnd, outcome) => {
      using disk = SmallDisk.mount();
      await using site = await Site.start({ paceMs: 20 });
      const host = await site.host({ options: { policy: { onRunEnd } } }, disk.path);
      const { threadId, runId, response } = await ask(host, "#chunks 60");
      const seen = await readUntilBroken(
        response,
        once(() => disk.fill()),
      );
      expect(endsOf(seen)).toEqual([]);
      expect(await get(host, `/runs/${runId}`)).toMatchObject({
        status: "failed",
        error: { code: "host_stopped", message: expect.stringContaining("no room left"), retryable: true },
      });
      await expectRefusal(host, "journal_full");
      expect(await endsOfThread(host, threadId)).toEqual([]);

      disk.empty();
      await expect.poll(() => endsOfThread(host, threadId)).toHaveLength(3);
      const record = await expectWhole(host, threadId, seen);
      expect(TEXT.startsWith(subagentText(record))).toBe(true);
      if (outcome === "completed") expect(subagentText(record)).toBe(TEXT);
      expect(await get(host, `/runs/${runId}`)).toMatchObject({
        status: "failed",
        error: { code: "host_stopped" },
      });
      await expect.poll(() => delegationsOf(host, runId)).toEqual([outcome]);
      expect(await site.sent()).toBe(1);

      const after = await ask(host, "#say After.", { threadId, runId: "after" });
      expect(endsOf(await collect(after.response))).toEqual(["CUSTOM(subagent.finished)", "RUN_FINISHED"]);
      await expect.poll(() => childrenOf(host.child.pid)).toEqual([]);
      expect(await stop(host)).toBe(0);
    },
  );

  it("that stays full: the host stops as usual, and the next one closes what is open when there is room", async () => {
    using disk = SmallDisk.mount();
    await using site = await Site.start({ paceMs: 20 });
    const host = await site.host({}, disk.path);
    const { threadId, runId, response } = await ask(host, "#chunks 60");
    const seen = await readUntilBroken(
      response,
      once(() => disk.fill()),
    );
    expect(await stop(host)).toBe(0);
    disk.empty();
    const next = await site.host({}, disk.path);
    await expect.poll(() => endsOfThread(next, threadId)).toHaveLength(3);
    await expectWhole(next, threadId, seen);
    expect(await get(next, `/runs/${runId}`)).toMatchObject({
      status: "failed",
      error: { code: "host_stopped" },
    });
    expect(await site.sent()).toBe(1);
  });

  it("that may not be written: the command says so and does not start", async () => {
    using disk = SmallDisk.mount();
    disk.setReadOnly();
    await using remote = await startRemote();
    await using place = await makeFolder();
    const config = { serve: { port: 0 }, journal: `sqlite:${disk.path}/journal.db` };
    await place.configure({ cardUrl: remote.cardUrl, config });
    await using refused = troupe(["serve", "--json"], { cwd: place.path });
    expect(await refused.exit).not.toBe(0);
    expect(refused.stderr).toMatch(
      /^troupe: The journal .*journal\.db can be read but not written\. Check its permissions/m,
    );
    expect(refused.stdout).toBe("");
  });
});

const unbreakable = noSqlite ?? noBreakableDisk;

describe.skipIf(unbreakable !== undefined)(
  `a disk that fails and becomes read-only${unbreakable ? ` (${unbreakable})` : ""}`,
  () => {
    it("in mid-run: the run ends and says why, and all is closed once by the host that starts when it is mended", async () => {
      using disk = SmallDisk.breakable();
      await using site = await Site.start({ paceMs: 20 });
      // What the kernel has not written yet is lost, as when the power is cut.
      const host = await site.host({ storage: { durability: "machine" } }, disk.path);
      const { threadId, runId, response } = await ask(host, "#chunks 60");
      const seen = await readUntilBroken(
        response,
        once(() => disk.break()),
      );
      expect(await get(host, `/runs/${runId}`)).toMatchObject({
        status: "failed",
        error: { code: "host_stopped" },
      });
      await expectRefusal(host, "journal_failed");
      expect(await stop(host)).toBe(0);
      disk.mend();
      const next = await site.host({}, disk.path);
      await expect.poll(() => endsOfThread(next, threadId)).toHaveLength(3);
      await expectWhole(next, threadId, seen);
      expect(await site.sent()).toBe(1);
    });
  },
);
