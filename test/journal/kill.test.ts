import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createSqliteJournal } from "../../src/journal/sqlite-journal.js";
import { whyNoSqlite } from "../../src/journal/sqlite-module.js";
import { type ContractEvent, cursorsOf, readAll } from "../../src/testing/journal-entries.js";
import { start } from "../cli/troupe.js";

const problem = await whyNoSqlite();
const PROGRAM = fileURLToPath(new URL("./appending.js", import.meta.url));

describe.skipIf(problem !== undefined)(
  `a process that is killed while it appends${problem ? ` (${problem})` : ""}`,
  () => {
    it.each([1, 37, 400])(
      "after %d acknowledged entries, all of them are there, and the rest is whole",
      async (count) => {
        const folder = mkdtempSync(join(tmpdir(), "troupe-kill-"));
        const file = join(folder, "journal.db");
        try {
          await using program = start(process.execPath, [PROGRAM, file], { cwd: folder });
          const acknowledged = () => program.stdout.split("\n").slice(0, -1).map(Number);
          await expect.poll(() => acknowledged().length, { interval: 2 }).toBeGreaterThanOrEqual(count);
          program.child.kill("SIGKILL");
          expect(await program.exit).toBe("SIGKILL");
          const journal = await createSqliteJournal<ContractEvent>({ file });
          const cursors = cursorsOf(await readAll(journal, {}, "t"));
          expect(cursors).toEqual(Array.from({ length: cursors.length }, (_, index) => index + 1));
          expect(acknowledged().at(-1)).toBeLessThanOrEqual(cursors.length);
          // Its run is free for whoever comes next, once.
          expect(await journal.adopt?.()).toEqual([{ thread: "t", runId: "r", first: "1" }]);
          const [next] = [await journal.append({ thread: "t", runId: "r", event: { type: "run.failed" } })];
          expect(Number(next.cursor)).toBe(cursors.length + 1);
          expect(await journal.adopt?.()).toEqual([]);
          await journal.close();
        } finally {
          rmSync(folder, { recursive: true, force: true });
        }
      },
    );

    it("a run of a living process is not taken over", async () => {
      const folder = mkdtempSync(join(tmpdir(), "troupe-kill-"));
      const file = join(folder, "journal.db");
      try {
        await using program = start(process.execPath, [PROGRAM, file], { cwd: folder });
        await program.says("\n");
        const journal = await createSqliteJournal<ContractEvent>({ file });
        expect(await journal.adopt?.()).toEqual([]);
        program.child.kill("SIGKILL");
        await program.exit;
        expect(await journal.adopt?.()).toHaveLength(1);
        await journal.close();
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  },
);
