import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { journalContract } from "../testing/journal-contract.js";
import { sharedJournalContract } from "../testing/journal-contract-shared.js";
import {
  appendAll,
  type ContractEvent,
  type ContractLimits,
  readAll,
  runOf,
  THREAD,
  turn,
} from "../testing/journal-entries.js";
import { ManualClock } from "../testing/manual-clock.js";
import { createSqliteJournal, type SqliteJournalOptions } from "./sqlite-journal.js";
import { loadSqlite, whyNoSqlite } from "./sqlite-module.js";

const problem = await whyNoSqlite();
const suite = describe.skipIf(problem !== undefined);
const why = problem === undefined ? "" : ` (skipped: ${problem})`;
const folder = mkdtempSync(join(tmpdir(), "troupe-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const fresh = () => join(folder, `${++files}`, "journal.db");
const create = (limits: ContractLimits = {}, more: Partial<SqliteJournalOptions> = {}) =>
  createSqliteJournal<ContractEvent>({ file: fresh(), ...limits, ...more });

/** The database itself, as another program would open it. */
async function database(file: string) {
  const Sqlite = await loadSqlite();
  return new Sqlite(file);
}

suite(`the contract of a journal, on SQLite${why}`, () => {
  // A thousand journals in files take their time on a busy machine.
  for (const { name, check } of journalContract((limits) => create(limits))) it(name, check, 180_000);
});

suite(`the contract of a shared journal, on SQLite${why}`, () => {
  const open = (file: string, limits: ContractLimits) => create(limits, { file, pollMs: 2 });
  for (const { name, check } of sharedJournalContract(open, fresh)) it(name, check);
});

suite(`the SQLite journal${why}`, () => {
  it("commits what is appended in one turn together, in one transaction", async () => {
    const file = fresh();
    const journal = await create({}, { file });
    const other = await database(file);
    const version = () => other.pragma("data_version", { simple: true });
    await appendAll(journal, [{ type: "run.started" }]);
    const before = version();
    await appendAll(journal, [...runOf("a", "b", "c")]);
    expect(version()).toBe(Number(before) + 1);
    other.close();
    await journal.close();
  });

  it("stamps entries at the call, with its clock", async () => {
    const clock = new ManualClock(1_000);
    const journal = await create({}, { clock });
    const first = appendAll(journal, runOf("a").slice(0, 2));
    const advancing = clock.advance(70);
    await Promise.all([first, advancing]);
    await appendAll(journal, runOf("b").slice(1));
    expect((await readAll(journal)).map(({ time }) => time)).toEqual([1_000, 1_000, 1_070, 1_070]);
    await journal.close();
    expect(clock.pending).toBe(0);
  });

  it("file and folder are its user's alone", async () => {
    const file = fresh();
    const journal = await create({}, { file });
    await appendAll(journal, runOf("a"));
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(dirname(file)))
      expect(statSync(join(dirname(file), name)).mode & 0o077, name).toBe(0);
    await journal.close();
    expect(readdirSync(dirname(file))).toEqual(["journal.db"]);
  });

  it("one entry that is no JSON is refused alone", async () => {
    const journal = await create();
    const circular: { type: string; self?: unknown } = { type: "x" };
    circular.self = circular;
    const [bad, good] = await Promise.allSettled([
      journal.append({ thread: THREAD, runId: "r", event: circular }),
      journal.append({ thread: THREAD, runId: "r", event: { type: "y" } }),
    ]);
    expect([bad.status, good.status]).toEqual(["rejected", "fulfilled"]);
    await journal.close();
  });

  it("ids of half characters are refused: they would become others", async () => {
    const journal = await create();
    const event = { type: "run.started" };
    for (const ids of [
      { thread: "t\ud800", runId: "r" },
      { thread: "t", runId: "\udc00" },
    ])
      await expect(journal.append({ ...ids, event })).rejects.toMatchObject({ code: "journal_failed" });
    const odd = { thread: "/𝄞\u0000 '", runId: 'r\u0000"' };
    const entry = await journal.append({ ...odd, event });
    expect(await readAll(journal, {}, odd.thread)).toEqual([entry]);
    expect(await journal.find?.({ runId: odd.runId })).toEqual([{ ...odd, first: "1" }]);
    await journal.close();
  });

  it("appends after the end are refused", async () => {
    const journal = await create();
    await journal.close();
    await expect(appendAll(journal, runOf("a"))).rejects.toMatchObject({ code: "journal_closed" });
    await expect(readAll(journal)).rejects.toMatchObject({ code: "journal_closed" });
    await journal.close();
  });

  it("a reader that stands still when it is closed may still go on to the end", async () => {
    const journal = await create({ batch: 2 });
    const all = await appendAll(journal, runOf("a", "b", "c"));
    const reading = journal.read(THREAD, { follow: true })[Symbol.asyncIterator]();
    const seen = [...((await reading.next()).value ?? [])];
    await journal.close();
    for (let next = await reading.next(); !next.done; next = await reading.next()) seen.push(...next.value);
    expect(seen).toEqual(all);
  });

  it("a reader far behind a long text gets it in few pieces, and exactly", async () => {
    const journal = await create();
    const texts = Array.from({ length: 20_000 }, (_, index) => `${index} `);
    await appendAll(journal, runOf(...texts));
    const read = await readAll(journal);
    expect(read.length).toBeLessThan(15);
    expect(read.map(({ event }) => ("delta" in event ? event.delta : "")).join("")).toBe(texts.join(""));
    await journal.close();
  });

  it("a batch is bounded by its size as well", async () => {
    const journal = await create();
    const event = { type: "tool.result", content: "x".repeat(1_000_000) };
    await appendAll(
      journal,
      Array.from({ length: 20 }, () => event),
    );
    let most = 0;
    for await (const batch of journal.read(THREAD)) most = Math.max(most, batch.length);
    expect(most).toBeLessThan(7);
    await journal.close();
  });
});

suite(`retention${why}`, () => {
  const DAY = 24 * 3_600_000;

  it("counts from a run's end, and drops a thread's oldest runs with their delegations", async () => {
    const clock = new ManualClock();
    const dropped: string[] = [];
    const journal = await create(
      {},
      { clock, retentionMs: 2 * DAY, onDropped: (ids) => dropped.push(...ids) },
    );
    const delegation = ["started", "finished"].map((type) => ({
      type: `subagent.${type}`,
      delegationId: "del-1",
    }));
    const [start, end] = [{ type: "run.started" }, { type: "run.finished" }];
    await appendAll(journal, [start, ...delegation], { runId: "old" });
    await clock.advance(3 * DAY);
    // However long ago it began: it is not over.
    expect(await journal.find?.({ thread: THREAD })).toHaveLength(1);
    await appendAll(journal, [end], { runId: "old" });
    await clock.advance(DAY);
    await appendAll(journal, [start, end], { runId: "new" });
    await clock.advance(1.5 * DAY);
    expect((await journal.find?.({ thread: THREAD }))?.map(({ runId }) => runId)).toEqual(["new"]);
    expect(dropped).toEqual(["del-1"]);
    expect((await readAll(journal, { after: "2" })).map(({ event }) => event.type)).toEqual([
      "run.started",
      "stream.gap",
      "run.finished",
    ]);
    await journal.close();
  });

  it("forgets a thread of which nothing is left, and never uses its cursors twice", async () => {
    const clock = new ManualClock();
    const file = fresh();
    const journal = await create({}, { clock, file, retentionMs: DAY });
    const old = await appendAll(journal, runOf(...Array.from({ length: 5_000 }, () => "x")));
    await clock.advance(2 * DAY);
    const look = await database(file);
    const count = (table: string) => look.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
    await expect.poll(() => [count("entries"), count("threads"), count("runs")]).toEqual([0, 0, 0]);
    look.close();
    expect(await journal.head(THREAD)).toBeUndefined();
    const [first] = await appendAll(journal, runOf("y"));
    expect(Number(first?.cursor)).toBeGreaterThan(Number(old.at(-1)?.cursor));
    // Who begins at its beginning misses nothing of what is a new thread to him, who comes back does.
    expect(await readAll(journal)).toHaveLength(3);
    expect((await readAll(journal, { after: "17" }))[1]?.event.type).toBe("stream.gap");
    await journal.close();
  });

  it("a delegation that goes on after its run keeps it", async () => {
    const clock = new ManualClock();
    const journal = await create({}, { clock, retentionMs: DAY });
    const subagent = (type: string) => ({ type: `subagent.${type}`, delegationId: "del-1" });
    await appendAll(journal, [{ type: "run.started" }, subagent("started"), { type: "run.finished" }]);
    await clock.advance(5 * DAY);
    expect(await readAll(journal)).toHaveLength(3);
    await appendAll(journal, [subagent("finished")]);
    await clock.advance(5 * DAY);
    expect(await readAll(journal)).toEqual([]);
    await journal.close();
  });
});

suite(`what goes wrong with the file${why}`, () => {
  it.each([
    ["a time beyond 2^53", "UPDATE entries SET time = 9223372036854775807 WHERE seq = 3"],
    ["broken JSON", "UPDATE entries SET event = substr(event, 1, 20) WHERE seq = 3"],
    ["what is no event", "UPDATE entries SET event = '[]' WHERE seq = 3"],
    ["nothing", "UPDATE entries SET event = 'null' WHERE seq = 3"],
  ])(
    "%s is an error that names the entry, after what is before it; other threads do not notice",
    async (_what, sql) => {
      const file = fresh();
      const journal = await create({}, { file });
      const other = await appendAll(journal, runOf("x"), { thread: "other" });
      const all = await appendAll(journal, runOf("a", "b", "c"));
      const broken = await database(file);
      broken.exec(`${sql} AND thread = (SELECT id FROM threads WHERE name = '${THREAD}')`);
      broken.close();
      const seen: unknown[] = [];
      const reading = (async () => {
        for await (const batch of journal.read(THREAD)) seen.push(...batch);
      })();
      await expect(reading).rejects.toMatchObject({
        code: "journal_corrupt",
        message: expect.stringContaining(`Entry 3 of thread "${THREAD}" in ${file} cannot be read`),
      });
      expect(seen).toEqual(all.slice(0, 2));
      expect(await readAll(journal, {}, "other")).toEqual(other);
      expect(await readAll(journal, { after: "3" })).toEqual(all.slice(3));
      await journal.close();
    },
  );

  it("a file that is full refuses what does not fit, keeps what it has, and takes more when there is room", async () => {
    const file = fresh();
    const journal = await create({}, { file, maxBytes: 200_000 });
    const all = await appendAll(journal, runOf("a"));
    const large = { type: "tool.result", content: "x".repeat(400_000) };
    await expect(appendAll(journal, [large])).rejects.toMatchObject({
      code: "journal_full",
      retryable: true,
    });
    const more = await appendAll(journal, runOf("b"));
    expect(await readAll(journal)).toEqual([...all, ...more]);
    expect(Number(more[0]?.cursor)).toBe(4);
    await journal.close();
  });

  it("while another process writes, appends wait in order without blocking; in the end they fail", async () => {
    const clock = new ManualClock();
    const file = fresh();
    const journal = await create({}, { file, clock, lockTimeoutMs: 1_000 });
    const other = await database(file);
    other.exec("BEGIN IMMEDIATE");
    const early = appendAll(journal, runOf("a"));
    await turn();
    await clock.advance(100);
    const late = appendAll(journal, runOf("b"));
    other.exec("COMMIT");
    await clock.advance(100);
    const all = [...(await early), ...(await late)];
    expect(all.map(({ cursor }) => cursor)).toEqual(["1", "2", "3", "4", "5", "6"]);
    other.exec("BEGIN IMMEDIATE");
    const refused = expect(appendAll(journal, runOf("c"))).rejects.toMatchObject({
      code: "journal_locked",
      retryable: true,
    });
    for (let waited = 0; waited < 11; waited++) await clock.advance(100);
    await refused;
    expect(await readAll(journal)).toEqual(all);
    other.exec("ROLLBACK");
    other.close();
    await journal.close();
  });

  it("what is opened to be read is not changed", async () => {
    const file = fresh();
    const journal = await create({}, { file });
    const all = await appendAll(journal, runOf("a"));
    const reader = await create({}, { file, readOnly: true });
    expect(await readAll(reader)).toEqual(all);
    await expect(appendAll(reader, runOf("b"))).rejects.toMatchObject({ code: "journal_read_only" });
    await reader.close();
    await journal.close();
    await expect(create({}, { readOnly: true })).rejects.toMatchObject({ code: "journal_unreadable" });
  });
});
