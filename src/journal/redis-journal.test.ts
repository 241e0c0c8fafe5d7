import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort, noRedis, RedisServer } from "../../test/support/redis-server.js";
import { type Clock, systemClock } from "../core/clock.js";
import { createId } from "../core/ids.js";
import { journalContract } from "../testing/journal-contract.js";
import { sharedJournalContract } from "../testing/journal-contract-shared.js";
import {
  appendAll,
  type ContractEvent,
  type ContractLimits,
  readAll,
  runOf,
  THREAD,
} from "../testing/journal-entries.js";
import { ManualClock } from "../testing/manual-clock.js";
import { RedisConnection } from "./redis-connection.js";
import { RedisCourier } from "./redis-courier.js";
import { createRedisJournal, RedisJournal, type RedisJournalOptions } from "./redis-journal.js";
import { RedisKeys } from "./redis-keys.js";
import { ADOPT, APPEND } from "./redis-scripts.js";

const suite = describe.skipIf(noRedis !== undefined);
const why = noRedis === undefined ? "" : ` (skipped: ${noRedis})`;
let server: RedisServer;

let places = 0;
const fresh = () => `test-${process.pid}-${++places}`;
const create = (limits: ContractLimits = {}, more: Partial<RedisJournalOptions> = {}) =>
  createRedisJournal<ContractEvent>({
    url: server.url,
    prefix: fresh(),
    ...limits,
    ...more,
  });

suite(`on a Redis server${why}`, () => {
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  describe("the contract of a journal", () => {
    // A thousand journals over a socket take their time on a busy machine.
    for (const { name, check } of journalContract((limits) => create(limits))) it(name, check, 180_000);
  });

  describe("the contract of a shared journal", () => {
    const open = (prefix: string, limits: ContractLimits) => create(limits, { prefix });
    for (const { name, check } of sharedJournalContract(open, fresh)) it(name, check);
  });

  it("case 045: deployments with different prefixes see nothing of each other", async () => {
    const [one, two] = [await create(), await create()];
    await appendAll(one, runOf("a"));
    expect(await readAll(two)).toEqual([]);
    expect(await two.find?.({ runId: "run-1" })).toEqual([]);
    await Promise.all([one.close(), two.close()]);
  });

  it("a thread has one run at a time, whoever begins it; nothing of one that was refused gets in", async () => {
    const prefix = fresh();
    const [one, two] = [await create({}, { prefix }), await create({}, { prefix })];
    const started = { type: "run.started" };
    await appendAll(one, [started], { runId: "first" });
    const late = [started, { type: "text.start", messageId: "m" }, { type: "run.finished" }].map((event) =>
      two.append({ thread: THREAD, runId: "second", event }),
    );
    const refused = await Promise.all(late.map((appending) => appending.catch((error: unknown) => error)));
    expect(refused).toMatchObject([
      { code: "thread_busy", retryable: true },
      { code: "taken_over" },
      { code: "taken_over" },
    ]);
    await appendAll(two, [{ type: "note" }], { runId: "another" });
    await appendAll(one, [{ type: "run.finished" }], { runId: "first" });
    await appendAll(two, runOf("a"), { runId: "second" });
    const kinds = (await readAll(one)).map(({ runId, event }) => `${runId} ${event.type}`);
    expect(kinds.slice(0, 4)).toEqual([
      "first run.started",
      "another note",
      "first run.finished",
      "second run.started",
    ]);
    await Promise.all([one.close(), two.close()]);
  });

  it("who was taken for dead and comes back can write no more of what was taken over, and goes on with the rest", async () => {
    const prefix = fresh();
    const leaseMs = 90;
    const timer: Clock["timer"] = (ms, run) =>
      // It never renews its lease.
      ms === leaseMs / 3 ? { cancel: () => undefined } : systemClock.timer(ms, run);
    const frozen = await create({}, { prefix, leaseMs, clock: { ...systemClock, timer } });
    const heir = await create({}, { prefix });
    const started = { type: "subagent.started", delegationId: "del-1" };
    await appendAll(frozen, [{ type: "run.started" }, started], { runId: "run" });
    await expect.poll(async () => (await heir.adopt?.())?.length).toBe(2);
    const ended = { ...started, type: "subagent.failed" };
    for (const event of [
      { type: "text.start", messageId: "m" },
      { ...started, type: "subagent.finished" },
      { type: "run.finished" },
    ])
      await expect(frozen.append({ thread: THREAD, runId: "run", event })).rejects.toMatchObject({
        code: "taken_over",
      });
    await appendAll(heir, [ended, { type: "run.failed" }], { runId: "run" });
    await expect(
      frozen.append({ thread: THREAD, runId: "run", event: { type: "run.finished" } }),
    ).rejects.toMatchObject({ code: "taken_over" });
    await appendAll(frozen, runOf("a"), { runId: "next" });
    const ends = (await readAll(heir)).filter(({ event }) => /^run\.f/.test(event.type));
    expect(ends.map(({ runId, event }) => `${runId} ${event.type}`)).toEqual([
      "run run.failed",
      "next run.finished",
    ]);
    await Promise.all([frozen.close(), heir.close()]);
  });

  it("what begins while another host looks for abandoned work is found by its next look", async () => {
    const prefix = fresh();
    const connection = await RedisConnection.open({ url: server.url, outageMs: 1_000, clock: systemClock });
    const heir = await create({}, { prefix });
    // The thread is announced and its first entry still on its way when the other one looks.
    const run = connection.run.bind(connection);
    const looked: unknown[] = [];
    connection.run = async (script, keys, args) => {
      if (script === APPEND) looked.push(await heir.adopt?.(), await heir.adopt?.());
      return run(script, keys, args);
    };
    const keys = new RedisKeys(prefix);
    const writer = new RedisJournal<ContractEvent>(connection, keys, { url: server.url });
    await appendAll(writer, [{ type: "run.started" }], { runId: "run" });
    expect(looked).toEqual([[], []]);
    await writer.close();
    expect(await heir.adopt?.()).toMatchObject([{ thread: THREAD, runId: "run" }]);
    await heir.close();
  });

  it("abandoned work is not lost when the answer that gives it away is", async () => {
    const prefix = fresh();
    const gone = await create({}, { prefix });
    await appendAll(gone, [{ type: "run.started" }], { runId: "run" });
    await appendAll(gone, [{ type: "run.started" }], { thread: "other", runId: "other" });
    await gone.close();
    const connection = await RedisConnection.open({ url: server.url, outageMs: 1_000, clock: systemClock });
    const run = connection.run.bind(connection);
    let answers = 0;
    connection.run = async (script, keys, args) => {
      const answer = await run(script, keys, args);
      if (script === ADOPT && ++answers <= 2) throw new Error("The connection is gone.");
      return answer;
    };
    const heir = new RedisJournal<ContractEvent>(connection, new RedisKeys(prefix), { url: server.url });
    await expect(heir.adopt()).rejects.toThrow("The connection is gone.");
    expect(await heir.adopt()).toMatchObject([{ runId: "other" }, { runId: "run" }]);
    expect(await heir.adopt()).toEqual([]);
    await heir.close();
  });

  it("hosts ask each other: the first answer counts, nobody's matter is told as such, and silence in time", async () => {
    const prefix = fresh();
    const clock = new ManualClock();
    const connect = async () =>
      RedisConnection.open({ url: server.url, outageMs: 1_000, clock: systemClock });
    const hosts = await Promise.all(
      ["one", "two", "three"].map(async (name) => {
        const connection = await connect();
        return {
          connection,
          courier: new RedisCourier(connection, new RedisKeys(prefix), name, clock, createId),
        };
      }),
    );
    const [one, two, three] = hosts.map(({ courier }) => courier);
    if (one === undefined || two === undefined || three === undefined) throw new Error("no hosts");
    let silent = false;
    const asked: unknown[] = [];
    await one.serve(async () => "never asked by itself");
    await two.serve(async (message) => {
      asked.push(message);
      if (silent) await new Promise(() => undefined);
      return undefined;
    });
    await three.serve(async (message) => {
      if (message === "broken") throw new Error("broken");
      return message === "mine" ? { done: true } : undefined;
    });
    expect(await one.ask("mine")).toEqual({ done: true });
    expect(await one.ask({ nobody: "s" })).toBeUndefined();
    expect(await one.ask("broken")).toBeUndefined();
    expect(asked).toEqual(["mine", { nobody: "s" }, "broken"]);
    silent = true;
    expect(await one.ask("mine")).toEqual({ done: true });
    const waiting = one.ask("anybody");
    const failed = expect(waiting).rejects.toMatchObject({ code: "host_silent", retryable: true });
    await expect.poll(() => asked.length).toBe(5);
    await clock.advance(5_000);
    await failed;
    for (const { connection } of hosts) connection.close();
  });

  it("a server that is away for a moment loses nothing and doubles nothing", async () => {
    const journal = await create();
    const before = await appendAll(journal, runOf("a", "b"));
    const following: string[] = [];
    const controller = new AbortController();
    const reading = (async () => {
      for await (const batch of journal.read("tenant/thread", { follow: true, signal: controller.signal }))
        following.push(...batch.map(({ cursor }) => cursor));
    })();
    await server.kill();
    const during = appendAll(journal, runOf("c", "d"));
    await server.restart();
    const after = [...before, ...(await during)];
    expect(await readAll(journal)).toEqual(after);
    await expect.poll(() => following).toEqual(after.map(({ cursor }) => cursor));
    controller.abort();
    await reading;
    await journal.close();
  });

  it("a server that stays away is told as such, in time, and without its password", async () => {
    const nowhere = await freePort();
    const opening = create({}, { url: `redis://user:s3cret-word@127.0.0.1:${nowhere}`, outageMs: 50 });
    const error = await opening.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "journal_unavailable", retryable: true });
    expect(String(error)).not.toContain("s3cret-word");
  });
});
