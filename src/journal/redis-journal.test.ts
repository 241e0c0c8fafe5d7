import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort, noRedis, RedisServer } from "../../test/support/redis-server.js";
import { journalContract } from "../testing/journal-contract.js";
import { sharedJournalContract } from "../testing/journal-contract-shared.js";
import {
  appendAll,
  type ContractEvent,
  type ContractLimits,
  readAll,
  runOf,
} from "../testing/journal-entries.js";
import { createRedisJournal, type RedisJournalOptions } from "./redis-journal.js";

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
    for (const { name, check } of journalContract((limits) => create(limits))) it(name, check);
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
