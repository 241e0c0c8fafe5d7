import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { appendAll, type ContractEvent, RUN, readAll, runOf, THREAD } from "../testing/journal-entries.js";
import { createSqliteJournal } from "./sqlite-journal.js";
import { whyNoSqlite } from "./sqlite-module.js";

const problem = await whyNoSqlite();
const folder = mkdtempSync(join(tmpdir(), "troupe-sqlite-loss-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** A journal that has no room for {@link LARGE}. */
const create = () =>
  createSqliteJournal<ContractEvent>({ file: join(folder, `${++files}.db`), maxBytes: 200_000 });

const LARGE = { type: "tool.result", content: "x".repeat(400_000) };
const [START, DELTA, END] = runOf("a") as [ContractEvent, ContractEvent, ContractEvent];
const GONE = { code: "taken_over", message: expect.stringContaining("There is no room left") };

describe.skipIf(problem !== undefined)(
  `what follows an entry that was refused${problem ? ` (skipped: ${problem})` : ""}`,
  () => {
    it("is refused in its run, so that the record has no hole; other threads go on", async () => {
      const journal = await create();
      const written = await appendAll(journal, [START, DELTA]);
      const other = await appendAll(journal, [START], { thread: "other", runId: "run-2" });
      await expect(appendAll(journal, [LARGE])).rejects.toMatchObject({ code: "journal_full" });
      await expect(appendAll(journal, [DELTA])).rejects.toMatchObject(GONE);
      other.push(...(await appendAll(journal, [DELTA, END], { thread: "other", runId: "run-2" })));
      expect(await readAll(journal)).toEqual(written);
      expect(await readAll(journal, {}, "other")).toEqual(other);
      await journal.close();
    });

    it("is refused also when it waits for the same commit", async () => {
      const journal = await create();
      const written = await appendAll(journal, [START]);
      const append = (event: ContractEvent) => journal.append({ thread: THREAD, runId: RUN, event });
      const results = await Promise.allSettled([append(LARGE), append(DELTA), append(END)]);
      expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
      await expect(append(DELTA)).rejects.toMatchObject(GONE);
      expect(await readAll(journal)).toEqual(written);
      await journal.close();
    });

    it("the run is to be taken over when its end was refused, and not before; then the thread takes entries again", async () => {
      const journal = await create();
      await appendAll(journal, [START]);
      await expect(appendAll(journal, [LARGE])).rejects.toMatchObject({ code: "journal_full" });
      expect(await journal.adopt?.()).toEqual([]);
      await expect(appendAll(journal, [END])).rejects.toMatchObject(GONE);
      await expect(appendAll(journal, [START], { runId: "run-2" })).rejects.toMatchObject({
        code: "journal_full",
        retryable: true,
      });
      await expect(appendAll(journal, [END], { runId: "run-2" })).rejects.toMatchObject({
        code: "taken_over",
      });
      expect(await journal.adopt?.()).toEqual([{ thread: THREAD, runId: RUN, first: "1" }]);
      await appendAll(journal, [END]);
      expect(await journal.adopt?.()).toEqual([]);
      await appendAll(journal, runOf("b"), { runId: "run-3" });
      const record = await readAll(journal);
      expect(record.map(({ runId, event }) => `${runId} ${event.type}`)).toEqual([
        `${RUN} run.started`,
        `${RUN} run.finished`,
        "run-3 run.started",
        "run-3 text.delta",
        "run-3 run.finished",
      ]);
      await journal.close();
    });

    it("whoever takes it over and is refused as well gets it again", async () => {
      const journal = await create();
      await appendAll(journal, [START]);
      await expect(appendAll(journal, [LARGE])).rejects.toMatchObject({ code: "journal_full" });
      await expect(appendAll(journal, [END])).rejects.toMatchObject(GONE);
      const abandoned = [{ thread: THREAD, runId: RUN, first: "1" }];
      expect(await journal.adopt?.()).toEqual(abandoned);
      await expect(appendAll(journal, [LARGE])).rejects.toMatchObject({ code: "journal_full" });
      expect(await journal.adopt?.()).toEqual(abandoned);
      await appendAll(journal, [END]);
      expect((await readAll(journal)).map(({ event }) => event.type)).toEqual([
        "run.started",
        "run.finished",
      ]);
      await journal.close();
    });

    it("a run that never began leaves nothing behind", async () => {
      const journal = await create();
      await expect(appendAll(journal, [{ ...START, ...{ content: LARGE.content } }])).rejects.toMatchObject({
        code: "journal_full",
      });
      await expect(appendAll(journal, [DELTA])).rejects.toMatchObject(GONE);
      await expect(appendAll(journal, [END])).rejects.toMatchObject(GONE);
      const entries = await appendAll(journal, runOf("b"), { runId: "run-2" });
      expect(await readAll(journal)).toEqual(entries);
      await journal.close();
    });
  },
);
