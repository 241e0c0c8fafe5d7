import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { configSchema } from "../config/schema.js";
import { whyNoSqlite } from "../journal/sqlite-module.js";
import { journalFile, openServingStorage, openStorage } from "./storage.js";

const problem = await whyNoSqlite();
let folder = "";
let said: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "troupe-storage-"));
  said = [];
  vi.spyOn(console, "error").mockImplementation((text: string) => void said.push(text));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const loaded = (journal?: string) => ({
  config: configSchema.parse({ agents: {}, ...(journal === undefined ? {} : { journal }) }),
  file: join(folder, "troupe.config.json"),
  folder,
});

describe("the journal of a config", () => {
  it.each(["redis:x", "sqlite", "sqlite:", "file.db", ""])("%j is refused", (journal) =>
    expect(() => loaded(journal)).toThrow(/sqlite:FILE/),
  );

  it("names a file from the config's folder, or none", () => {
    expect(journalFile("sqlite:a/b.db", "/config")).toBe(resolve("/config/a/b.db"));
    expect(journalFile("sqlite:/abs.db", "/config")).toBe(resolve("/abs.db"));
    expect(journalFile("memory", "/config")).toBeUndefined();
  });

  it("is memory where nobody asked for another, and for serve when it is asked for", async () => {
    expect(await openStorage(loaded())).toBeUndefined();
    expect(await openServingStorage(loaded("memory"))).toBeUndefined();
    expect(said).toEqual([]);
  });

  it("is memory for serve where nothing can be written, with one line that says why", async () => {
    writeFileSync(join(folder, ".troupe"), "in the way");
    expect(await openServingStorage(loaded())).toBeUndefined();
    expect(said).toEqual([expect.stringMatching(/^troupe: keeping the journal in memory\. ./)]);
  });

  it.skipIf(problem !== undefined)(
    "that is there and cannot be used is an error, not a new beginning",
    async () => {
      mkdirSync(join(folder, ".troupe"));
      writeFileSync(join(folder, ".troupe", "journal.db"), "no database, but somebody's file ".repeat(50));
      await expect(openServingStorage(loaded())).rejects.toMatchObject({ code: "journal_unreadable" });
      expect(said).toEqual([]);
    },
  );

  it.runIf(problem !== undefined)(
    "is memory for serve where SQLite does not work, with what to do",
    async () => {
      expect(await openServingStorage(loaded())).toBeUndefined();
      expect(said).toEqual([expect.stringMatching(/npm (?:install|rebuild) better-sqlite3/)]);
    },
  );
});
