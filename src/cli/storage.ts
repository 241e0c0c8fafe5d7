import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { LoadedConfig } from "../config/load.js";
import { errorText } from "../core/errors.js";
import { createDurableStorage, type DurableStorage } from "../host/durable-storage.js";
import { createRedisStorage } from "../host/redis-storage.js";

/** Where `troupe serve` keeps its journal when the config does not say, from the config's folder. */
export const DEFAULT_JOURNAL = join(".troupe", "journal.db");

/**
 * The file that `sqlite:FILE` names, or `undefined` for `memory`.
 * @param folder where relative paths start.
 */
export function journalFile(journal: string, folder: string): string | undefined {
  return journal.startsWith("sqlite:") ? resolve(folder, journal.slice("sqlite:".length)) : undefined;
}

/** Whether a journal is a Redis server's. */
export function isRedis(journal: string): boolean {
  return /^rediss?:\/\//.test(journal);
}

/**
 * Opens what a config's `journal` names.
 * @returns `undefined` when everything stays in memory.
 * @throws JournalError.
 */
export async function openStorage({ config, folder }: LoadedConfig): Promise<DurableStorage | undefined> {
  const { journal = "memory" } = config;
  if (isRedis(journal)) return createRedisStorage({ url: journal });
  const file = journalFile(journal, folder);
  return file === undefined ? undefined : createDurableStorage({ file });
}

/**
 * As {@link openStorage}, but with a file by default. Where that cannot be had, a line on standard error says why.
 * @throws JournalError when the config asks for a journal that cannot be opened, or the default one exists and cannot.
 */
export async function openServingStorage(loaded: LoadedConfig): Promise<DurableStorage | undefined> {
  if (loaded.config.journal !== undefined) return openStorage(loaded);
  const file = resolve(loaded.folder, DEFAULT_JOURNAL);
  const known = existsSync(file);
  try {
    if (!known) makeFolder(dirname(file));
    return await createDurableStorage({ file });
  } catch (error) {
    if (known && !isModuleProblem(error)) throw error;
    console.error(`troupe: keeping the journal in memory. ${errorText(error)}`);
    return undefined;
  }
}

/** What people ask and agents answer does not belong into a repository. */
function makeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ignore = join(folder, ".gitignore");
  if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
}

function isModuleProblem(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^journal_module_/.test(String(error.code));
}
