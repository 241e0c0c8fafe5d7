import type BetterSqlite from "better-sqlite3";
import { errorText } from "../core/errors.js";
import { JournalError } from "./journal-error.js";

/** The database class of `better-sqlite3`. */
export type SqliteModule = typeof BetterSqlite;

/**
 * Loads `better-sqlite3`, which is an optional dependency, and makes sure that it works here.
 * @param load imports the package.
 * @throws JournalError `journal_module_missing`, `journal_module_unusable` when it was built for another Node.
 */
export async function loadSqlite(
  load: () => Promise<{ readonly default: SqliteModule }> = () => import("better-sqlite3"),
): Promise<SqliteModule> {
  try {
    const { default: Sqlite } = await load();
    // The package finds its binary only when the first database is opened.
    new Sqlite(":memory:").close();
    return Sqlite;
  } catch (error) {
    throw moduleError(error);
  }
}

/**
 * Whether SQLite can be used by this Node.
 * @returns why not, or `undefined` when it can.
 */
export async function whyNoSqlite(): Promise<string | undefined> {
  return loadSqlite().then(
    () => undefined,
    (error: unknown) => errorText(error),
  );
}

function moduleError(error: unknown): JournalError {
  const text = errorText(error, 2_000);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ERR_DLOPEN_FAILED" || text.includes("NODE_MODULE_VERSION")) {
    return new JournalError(
      "journal_module_unusable",
      `better-sqlite3 was installed for another Node than this one (${process.version}). Run "npm rebuild better-sqlite3" with it, or use the Node that it was installed with.`,
      { cause: error },
    );
  }
  if (text.includes("bindings file") || text.includes("better_sqlite3.node")) {
    return new JournalError(
      "journal_module_unusable",
      'better-sqlite3 is installed without its binary. Run "npm rebuild better-sqlite3".',
      { cause: error },
    );
  }
  return new JournalError(
    "journal_module_missing",
    'A journal on disk needs the package better-sqlite3. Run "npm install better-sqlite3".',
    { cause: error },
  );
}
