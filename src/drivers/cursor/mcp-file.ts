import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, sleep } from "../../core/clock.js";
import { errorText, TroupeError } from "../../core/errors.js";
import type { JsonObject } from "../process/json.js";
import {
  type Holder,
  type McpJournal,
  readJournal,
  restore,
  serversNamed,
  withServers,
} from "./mcp-journal.js";
import { readText, removeFolderIfEmpty, writeText } from "./workspace-file.js";

/** Servers that are named in a workspace's `.cursor/mcp.json` until they are released. */
export interface AddedServers {
  /** Takes the change back when nobody else needs it. Never rejects; what could not be done is done at the next start. */
  release(): Promise<void>;
}

/** How long one run may wait for another to change the file, in milliseconds. */
const LOCK_MS = 5_000;
const RETRY_MS = 25;

/** Runs of this process that hold servers, by id, and how each is released at once. */
const held = new Map<string, () => void>();
let watching = false;

interface Places {
  readonly folder: string;
  readonly file: string;
  readonly journal: string;
  readonly lock: string;
}

function placesOf(workspace: string): Places {
  const folder = join(workspace, ".cursor");
  return {
    folder,
    file: join(folder, "mcp.json"),
    journal: join(folder, "troupe-mcp.json"),
    lock: join(folder, "troupe-mcp.lock"),
  };
}

/**
 * Names `servers` in the workspace's `.cursor/mcp.json`, beside what is there. A journal beside it says how it was before; what a host
 * that was killed has left behind is taken back first. Several runs, also of several hosts, may hold the same servers at once: the
 * last one takes the change back.
 * @throws TroupeError `invalid_input` when the file is no JSON object, or cannot be written.
 */
export async function addServers(
  workspace: string,
  servers: JsonObject,
  clock: Clock,
): Promise<AddedServers> {
  const places = placesOf(workspace);
  const holder: Holder = { pid: process.pid, id: randomUUID() };
  try {
    await locked(places, clock, (madeFolder) => acquire(places, servers, holder, madeFolder));
  } catch (error) {
    if (error instanceof TroupeError) throw error;
    const message = `Cursor reads MCP servers from ${places.file}, and it could not be changed: ${errorText(error)}`;
    throw new TroupeError("invalid_input", message, { cause: error });
  }
  held.set(holder.id, () => {
    if (release(places, holder)) removeFolderIfEmpty(places.folder);
  });
  watchExit();
  return {
    release: async () => {
      if (!held.delete(holder.id)) return;
      await locked(places, clock, () => release(places, holder)).catch(() => undefined);
    },
  };
}

/** A process that ends without ending its runs takes its changes back all the same; one that is killed cannot. */
function watchExit(): void {
  if (watching) return;
  watching = true;
  process.on("exit", () => {
    for (const releaseNow of held.values()) {
      try {
        releaseNow();
      } catch {
        // The journal is still there.
      }
    }
  });
}

function acquire(places: Places, servers: JsonObject, holder: Holder, madeFolder: boolean): boolean {
  const left = readJournal(places.journal);
  const others = left?.holders.filter(isAlive) ?? [];
  if (left !== undefined && others.length === 0) restore(places.file, places.journal, left);
  const before = left !== undefined && others.length > 0 ? left : undefined;
  const text = readText(places.file);
  const written = withServers(text, servers);
  if (written === undefined)
    throw new TroupeError("invalid_input", `${places.file} is not a JSON object. Correct it, or remove it.`);
  // What was there before the first run counts, not what a run has added.
  const names = Object.keys(servers).filter((name) => !(name in (before?.added ?? {})));
  const journal: McpJournal = {
    original: before === undefined ? (text ?? null) : before.original,
    madeFolder: before === undefined ? madeFolder || left?.madeFolder === true : before.madeFolder,
    written,
    added: { ...before?.added, ...servers },
    replaced: { ...serversNamed(text, names), ...before?.replaced },
    holders: [...others, holder],
  };
  // In this order a crash in between leaves a journal of a change that was not made, which is harmless.
  writeText(places.journal, JSON.stringify(journal), 0o600);
  writeText(places.file, written);
  return false;
}

/** @returns whether the folder may go when it is empty. */
function release(places: Places, { id }: Holder): boolean {
  const journal = readJournal(places.journal);
  if (journal === undefined) return false;
  const holders = journal.holders.filter((other) => other.id !== id && isAlive(other));
  if (holders.length > 0) {
    writeText(places.journal, JSON.stringify({ ...journal, holders }), 0o600);
    return false;
  }
  restore(places.file, places.journal, journal);
  return journal.madeFolder;
}

function isAlive({ pid, id }: Holder): boolean {
  return pid === process.pid ? held.has(id) : isProcess(pid);
}

function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Runs `change` while no other process changes the file. `change` says whether the folder may go when it is empty. */
async function locked(
  { folder, lock }: Places,
  clock: Clock,
  change: (madeFolder: boolean) => boolean,
): Promise<void> {
  const madeFolder = mkdirSync(folder, { recursive: true }) !== undefined;
  const until = clock.now() + LOCK_MS;
  while (!takeLock(lock)) {
    if (clock.now() >= until) throw new Error("another process is changing it");
    await sleep(clock, RETRY_MS);
  }
  let mayGo = madeFolder;
  try {
    mayGo = change(madeFolder);
  } finally {
    rmSync(lock, { force: true });
    if (mayGo) removeFolderIfEmpty(folder);
  }
}

/** The lock is a file with its owner's process id. One whose owner has gone is removed, and taken at the next try. */
function takeLock(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  const owner = Number(readText(lock) ?? "");
  // A lock of this process would be taken and given back in one go, so one that is there is an earlier process's.
  if (owner > 0 && (owner === process.pid || !isProcess(owner))) rmSync(lock, { force: true });
  return false;
}
