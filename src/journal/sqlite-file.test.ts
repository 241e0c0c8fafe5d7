import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { toJournalError } from "./journal-error.js";
import { openSqliteFile } from "./sqlite-file.js";
import { loadSqlite, type SqliteModule, whyNoSqlite } from "./sqlite-module.js";
import { SCHEMA_VERSION } from "./sqlite-schema.js";
import { sqliteThreadStore } from "./sqlite-thread-store.js";

const problem = await whyNoSqlite();
const suite = describe.skipIf(problem !== undefined);
const why = problem === undefined ? "" : ` (skipped: ${problem})`;
const folder = mkdtempSync(join(tmpdir(), "troupe-sqlite-file-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** A path in a folder of its own, which exists. */
function path(): string {
  const file = join(folder, `${++files}`, "journal.db");
  mkdirSync(dirname(file));
  return file;
}

async function madeBy(sql: string): Promise<string> {
  const Sqlite = await loadSqlite();
  const file = path();
  const database = new Sqlite(file);
  database.exec(sql);
  database.close();
  return file;
}

suite(`a journal's file${why}`, () => {
  it("has the newest version, which stays when it is opened again", async () => {
    const file = path();
    for (let time = 0; time < 2; time++) {
      const opened = await openSqliteFile({ file });
      expect(opened.database.pragma("user_version", { simple: true })).toBe(SCHEMA_VERSION);
      expect(opened.database.pragma("journal_mode", { simple: true })).toBe("wal");
      opened.close();
    }
  });

  it("waits for the disk only when it is asked to", async () => {
    for (const [durability, synchronous] of [
      ["process", 1],
      ["machine", 2],
    ] as const) {
      const opened = await openSqliteFile({ file: path(), durability });
      expect(opened.database.pragma("synchronous", { simple: true })).toBe(synchronous);
      opened.close();
    }
  });

  it("an empty file is a new journal, also after a start that was interrupted", async () => {
    const file = path();
    writeFileSync(file, "");
    (await openSqliteFile({ file })).close();
  });

  it("of a newer version is left alone", async () => {
    const file = path();
    const opened = await openSqliteFile({ file });
    opened.database.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
    opened.close();
    await expect(openSqliteFile({ file })).rejects.toMatchObject({
      code: "journal_newer",
      message: expect.stringContaining("Update Troupe"),
    });
  });

  it("of an older version is not read before it was brought up to date", async () => {
    const file = path();
    writeFileSync(file, "");
    await expect(openSqliteFile({ file, readOnly: true })).rejects.toMatchObject({
      code: "journal_unreadable",
    });
  });

  it("of another program is left alone", async () => {
    for (const sql of ["CREATE TABLE notes (text)", "PRAGMA application_id = 7", "PRAGMA user_version = 1"]) {
      const file = await madeBy(sql);
      await expect(openSqliteFile({ file })).rejects.toMatchObject({
        code: "journal_unreadable",
        message: expect.stringContaining("another program"),
      });
    }
  });

  it("that is none, or a folder, is named", async () => {
    const file = path();
    writeFileSync(file, "not a database at all, but long enough to look at".repeat(100));
    await expect(openSqliteFile({ file })).rejects.toMatchObject({ code: "journal_unreadable" });
    await expect(openSqliteFile({ file: dirname(file) })).rejects.toMatchObject({
      code: "journal_unreadable",
      message: expect.stringContaining(dirname(file)),
    });
    await expect(openSqliteFile({ file: join(file, "below-a-file.db") })).rejects.toMatchObject({
      code: "journal_unreadable",
    });
  });
});

suite(`checkpoints of threads${why}`, () => {
  it("are there after the file was closed, the newest of each thread", async () => {
    const file = path();
    const checkpoint = { driver: "claude", workspace: "/w", session: "s-1" };
    const first = await openSqliteFile({ file });
    const store = sqliteThreadStore(first);
    expect(await store.get("t")).toBeUndefined();
    await store.set("t", checkpoint);
    await store.set("t", { ...checkpoint, session: "s-2" });
    await store.set("other", checkpoint);
    first.close();
    const second = await openSqliteFile({ file });
    const again = sqliteThreadStore(second);
    expect(await again.get("t")).toEqual({ ...checkpoint, session: "s-2" });
    second.close();
    await expect(again.get("t")).rejects.toMatchObject({ code: "journal_closed" });
  });
});

describe("loading better-sqlite3", () => {
  const failing = (error: Error) => () => Promise.reject(error);
  const coded = (message: string, code: string) => Object.assign(new Error(message), { code });

  it("says what to do when it is not installed", async () => {
    const missing = coded("Cannot find package 'better-sqlite3' imported from x", "ERR_MODULE_NOT_FOUND");
    await expect(loadSqlite(failing(missing))).rejects.toMatchObject({
      code: "journal_module_missing",
      message: expect.stringContaining("npm install better-sqlite3"),
    });
  });

  it("says what to do when it was built for another Node, which shows at the first database only", async () => {
    class Broken {
      constructor() {
        throw coded(
          "The module 'x.node' was compiled against a different Node.js version using\nNODE_MODULE_VERSION 115. This version of Node.js requires\nNODE_MODULE_VERSION 127.",
          "ERR_DLOPEN_FAILED",
        );
      }
    }
    const load = async () => ({ default: Broken as unknown as SqliteModule });
    await expect(loadSqlite(load)).rejects.toMatchObject({
      code: "journal_module_unusable",
      message: expect.stringMatching(/another Node.*npm rebuild better-sqlite3/),
    });
  });

  it("says what to do when its binary is missing", async () => {
    const error = new Error("Could not locate the bindings file. Tried: …");
    await expect(loadSqlite(failing(error))).rejects.toMatchObject({ code: "journal_module_unusable" });
  });

  it.runIf(problem !== undefined)("where it does not work, says so in a way that helps", () => {
    expect(problem).toMatch(/npm (?:install|rebuild) better-sqlite3/);
  });
});

describe("errors of SQLite and of the file system", () => {
  it.each([
    ["SQLITE_BUSY_SNAPSHOT", "journal_locked", true],
    ["SQLITE_FULL", "journal_full", true],
    ["ENOSPC", "journal_full", true],
    ["SQLITE_READONLY_DBMOVED", "journal_read_only", false],
    ["EROFS", "journal_read_only", false],
    ["SQLITE_CORRUPT_INDEX", "journal_corrupt", false],
    ["SQLITE_NOTADB", "journal_unreadable", false],
    ["SQLITE_CANTOPEN", "journal_unreadable", false],
    ["EACCES", "journal_unreadable", false],
    ["SQLITE_IOERR_READ", "journal_failed", false],
  ])("%s is %s", (code, expected, retryable) => {
    const error = toJournalError(Object.assign(new Error("x"), { code }), "/j.db");
    expect(error).toMatchObject({ code: expected, retryable });
    expect(error.message).toContain("/j.db");
  });
});
