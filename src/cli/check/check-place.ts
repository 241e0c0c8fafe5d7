import { once } from "node:events";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import type { LoadedConfig } from "../../config/load.js";
import { type Clock, withinTime } from "../../core/clock.js";
import { errorText } from "../../core/errors.js";
import { isLoopback } from "../../host/app.js";
import { createRedisJournal } from "../../journal/redis-journal.js";
import { createSqliteJournal } from "../../journal/sqlite-journal.js";
import { whyNoSqlite } from "../../journal/sqlite-module.js";
import { createGuardedClient } from "../../wire/guarded-client.js";
import { DEFAULT_JOURNAL, isRedis, journalFile } from "../storage.js";
import type { Finding } from "./finding.js";

/** How long a Redis server, or who listens on the port, has to answer, in milliseconds. A server that refuses is asked again. */
const ANSWER_MS = 2_000;

/** Whether the journal can be opened. Nothing is made or changed. */
export async function checkJournal({ config, folder }: LoadedConfig, clock: Clock): Promise<Finding> {
  const { journal } = config;
  const finding = (state: Finding["state"], text: string, remedy?: string): Finding => ({
    area: "journal",
    // A Redis server's URL may hold its password.
    subject: journal === undefined ? `sqlite:${DEFAULT_JOURNAL}` : isRedis(journal) ? "redis" : journal,
    state,
    text,
    ...(remedy === undefined ? {} : { remedy }),
  });
  if (journal === "memory") return finding("ok", "everything is forgotten when troupe ends");
  if (journal !== undefined && isRedis(journal)) {
    const opened = await opens(() => createRedisJournal({ url: journal, outageMs: ANSWER_MS, clock }), clock);
    return opened === undefined
      ? finding("ok", "the server answers")
      : finding("problem", opened, "start the server, or correct `journal`");
  }
  const file =
    journalFile(journal ?? `sqlite:${DEFAULT_JOURNAL}`, folder) ?? resolve(folder, DEFAULT_JOURNAL);
  const why = await whyNoSqlite();
  if (why !== undefined) {
    return journal === undefined
      ? finding("warning", `the journal will be in memory. ${why}`, 'or set "journal": "memory"')
      : finding("problem", why, 'or set "journal": "memory"');
  }
  if (existsSync(file)) {
    const opened = await opens(() => createSqliteJournal({ file, readOnly: true, clock }), clock);
    return opened === undefined
      ? finding("ok", `${file} can be opened`)
      : finding("problem", opened, "move the file away, or name another one in `journal`");
  }
  const parent = nearestFolder(file);
  return isWritable(parent)
    ? finding("ok", `${file} will be made`)
    : finding("problem", `${parent} cannot be written to`, "name another file in `journal`");
}

async function opens(
  open: () => Promise<{ close(): Promise<void> }>,
  clock: Clock,
): Promise<string | undefined> {
  const opening = open();
  try {
    const journal = await withinTime(clock, ANSWER_MS + 1_000, opening);
    if (journal === undefined) {
      opening.then((late) => late.close()).catch(() => undefined);
      return `no answer within ${ANSWER_MS / 1_000} s`;
    }
    await journal.close();
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

/** The folder of a file that is there already, or the nearest above it. */
function nearestFolder(file: string): string {
  let folder = dirname(file);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return statSync(folder).isDirectory();
  } catch {
    return false;
  }
}

/** Whether `troupe serve` could listen where the config says. */
export async function checkPort({ config }: LoadedConfig, clock: Clock): Promise<Finding> {
  const { hostname = "127.0.0.1", port = 4100 } = config.serve ?? {};
  const finding = (state: Finding["state"], text: string, remedy?: string): Finding => ({
    area: "port",
    subject: `${hostname}:${port}`,
    state,
    text,
    ...(remedy === undefined ? {} : { remedy }),
  });
  if (!isLoopback(hostname)) {
    const remedy = "set serve.hostname to 127.0.0.1, or embed the host with an authoriser";
    return finding("problem", "a config cannot say who may come in from outside", remedy);
  }
  const why = await whyNoListener(port, hostname.replace(/^\[|\]$/g, ""));
  if (why === undefined) return finding("ok", port === 0 ? "a free port is taken" : "is free");
  const other = await troupeThere(`http://${hostname}:${port}`, clock);
  if (other !== undefined) return finding("warning", `a host of Troupe ${other} listens there already`);
  const remedy = "end what listens there, or set serve.port (0 takes a free one)";
  return finding("problem", `cannot be listened on (${why})`, remedy);
}

async function whyNoListener(port: number, host: string): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ port, host });
    await once(server, "listening");
    server.close();
    await once(server, "close");
    return undefined;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : errorText(error);
  }
}

/** The version of the host that answers there. */
async function troupeThere(origin: string, clock: Clock): Promise<string | undefined> {
  const client = createGuardedClient({
    clock,
    origins: [origin],
    idleTimeoutMs: ANSWER_MS,
    maxResponseBytes: 10_000,
  });
  try {
    const answer = await client.request(`${origin}/healthz`);
    const health = z.object({ status: z.literal("ok"), version: z.string().max(40) });
    return health.safeParse(JSON.parse(await answer.text())).data?.version;
  } catch {
    return undefined;
  } finally {
    await client.close();
  }
}
