import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createHost } from "../../src/host/host.js";
import { createRedisStorage } from "../../src/host/redis-storage.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { startRemote } from "../cli/remote.js";
import { makeFolder, start, troupe } from "../cli/troupe.js";
import { collect, customValue, type Frame, framesOf, nameOf } from "../support/frames.js";
import { noRedis, RedisServer } from "../support/redis-server.js";
import { verify } from "../support/verify.js";

const PROGRAM = fileURLToPath(new URL("./redis-host.js", import.meta.url));

const post = (url: string, prompt: string, signal: AbortSignal) =>
  fetch(`${url}/agents/claude/run`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      threadId: "t",
      runId: "r",
      messages: [{ id: "m", role: "user", content: prompt }],
    }),
    signal,
  });

describe.skipIf(noRedis !== undefined)(`two hosts on one Redis${noRedis ? ` (${noRedis})` : ""}`, () => {
  it("a browser of one goes on at the other; when the first is killed, everything open ends once", async () => {
    await using redis = await RedisServer.start();
    await using remote = await startRemote();
    await using first = start(process.execPath, [PROGRAM, redis.url, remote.cardUrl], { cwd: tmpdir() });
    await first.says("http://");
    const url = first.stdout.trim();
    const clock = new ManualClock();
    const { journal, artifacts } = await createRedisStorage({ url: redis.url, leaseMs: 600 });
    const second = await createHost({ agents: {}, journal, artifacts, clock });
    try {
      const leaving = new AbortController();
      const before: Frame[] = [];
      // Written at the first host, read at it, and then at the second one from where that was left.
      const running = await post(url, "#say Found it.\n#artifact notes.md 100\n#hang", leaving.signal);
      for await (const frame of framesOf(running)) {
        before.push(frame);
        if (frame.event.name === "subagent.artifact") break;
      }
      leaving.abort();
      const last = before.findLast(({ id }) => id !== undefined)?.id ?? "";
      const frames: Frame[] = [...before];
      const stream = await second.fetch(
        new Request("http://127.0.0.1/threads/t/events", { headers: { "last-event-id": last } }),
      );
      const reading = (async () => {
        for await (const frame of framesOf(stream)) {
          frames.push(frame);
          if (/^RUN_(FINISHED|ERROR)$/.test(frame.event.type)) return;
        }
      })();
      const { delegationId } = customValue(before.find(({ event }) => event.name === "subagent.started"));
      const file = await second.fetch(
        new Request(`http://127.0.0.1/delegations/${delegationId}/artifacts/notes.md`),
      );
      expect([file.status, (await file.arrayBuffer()).byteLength]).toEqual([200, 100]);

      first.child.kill("SIGKILL");
      await first.exit;
      // Nothing is taken from a host before its lease is over, whenever somebody looks.
      const over = { now: false };
      void reading.then(() => {
        over.now = true;
      });
      await expect
        .poll(async () => {
          await clock.advance(15_000);
          return over.now;
        })
        .toBe(true);
      await reading;
      await verify(frames);
      const ends = frames
        .map(nameOf)
        .filter((name) => /subagent\.(finished|failed|cancelled)|RUN_(FINISHED|ERROR)/.test(name));
      expect(ends).toEqual(["CUSTOM(subagent.failed)", "RUN_ERROR"]);
      expect(new Set(frames.flatMap(({ id }) => id ?? [])).size).toBe(
        frames.filter(({ id }) => id !== undefined).length,
      );
      const run = await (await second.fetch(new Request("http://127.0.0.1/runs/r"))).json();
      expect(run).toMatchObject({ status: "failed", error: { code: "host_stopped" } });
      // Nobody sent the task once more.
      expect((await remote.seen()).filter(({ method }) => /Message/.test(method))).toHaveLength(1);

      await using folder = await makeFolder();
      await using replay = troupe(["replay", "r", "--journal", redis.url, "--json"], { cwd: folder.path });
      expect(await replay.exit).toBe(0);
      expect(replay.lines.at(-1)).toMatchObject({ event: { type: "run.failed" } });
    } finally {
      await second.close();
    }
  });

  it("readers of a thread at both hosts see the same frames", async () => {
    await using redis = await RedisServer.start();
    await using remote = await startRemote();
    await using one = start(process.execPath, [PROGRAM, redis.url, remote.cardUrl], { cwd: tmpdir() });
    await using two = start(process.execPath, [PROGRAM, redis.url, remote.cardUrl], { cwd: tmpdir() });
    await Promise.all([one.says("http://"), two.says("http://")]);
    const open = new AbortController();
    const answer = collect(await post(one.stdout.trim(), "#chunks 300", open.signal));
    const elsewhere = await fetch(`${two.stdout.trim()}/threads/t/events`);
    const isEnd = ({ event }: Frame) => event.type === "RUN_FINISHED";
    expect(await collect(elsewhere, isEnd)).toEqual(await answer);
  });
});
