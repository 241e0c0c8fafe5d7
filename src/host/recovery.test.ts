import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { ThreadEvent } from "../bridges/agui/event.js";
import { createId } from "../core/ids.js";
import type { Journal } from "../journal/journal.js";
import { createSqliteJournal } from "../journal/sqlite-journal.js";
import { whyNoSqlite } from "../journal/sqlite-module.js";
import { ManualClock } from "../testing/manual-clock.js";
import { closeAbandoned, watchAbandoned } from "./recovery.js";

const problem = await whyNoSqlite();
const folder = mkdtempSync(join(tmpdir(), "troupe-recovery-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const THREAD = "/thread";

async function kinds(journal: Journal<ThreadEvent>): Promise<string[]> {
  const entries: string[] = [];
  for await (const batch of journal.read(THREAD)) entries.push(...batch.map(({ event }) => event.type));
  return entries;
}

describe.skipIf(problem !== undefined)(`a run that was left open${problem ? ` (${problem})` : ""}`, () => {
  it("gets its end at a later look when it cannot be written at first", async () => {
    const file = join(folder, "journal.db");
    const gone = await createSqliteJournal<ThreadEvent>({ file });
    const started = { type: "run.started", agent: "claude", messages: [] } as const;
    await gone.append({ thread: THREAD, runId: "run", event: started });
    await gone.close();

    const journal = await createSqliteJournal<ThreadEvent>({ file });
    const append = journal.append.bind(journal);
    const full = new Error("There is no room left.");
    let tries = 0;
    journal.append = (entry) => (++tries <= 2 ? Promise.reject(full) : append(entry));
    const errors: unknown[] = [];
    const clock = new ManualClock();
    const options = { journal, createId, onError: (error: unknown) => errors.push(error) };
    const stop = watchAbandoned(options, clock, 1_000, []);
    for (const failures of [1, 2]) {
      await clock.advance(1_000);
      await expect.poll(() => errors.length).toBe(failures);
      expect(await kinds(journal)).toEqual(["run.started"]);
    }
    await clock.advance(1_000);
    await expect.poll(() => kinds(journal)).toEqual(["run.started", "run.failed"]);
    await clock.advance(5_000);
    await stop();
    expect(errors).toEqual([full, full]);
    expect(await kinds(journal)).toEqual(["run.started", "run.failed"]);
    await journal.close();
  });

  it("is kept once for the next look, also when the journal gives it again", async () => {
    const span = { thread: THREAD, runId: "run", first: "1" };
    const journal = {
      adopt: async () => [span],
      read: () => {
        throw new Error("The disk does not answer.");
      },
    } as unknown as Journal<ThreadEvent>;
    const options = { journal, createId, onError: () => undefined };
    const other = { ...span, first: "9" };
    const left = await closeAbandoned(options, [span, other]);
    expect(left).toEqual([other, span]);
    expect(await closeAbandoned(options, left)).toEqual(left);
  });
});
