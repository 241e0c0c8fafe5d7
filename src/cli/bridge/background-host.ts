import { spawn } from "node:child_process";
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sleep, systemClock } from "../../core/clock.js";
import { TroupeError } from "../../core/errors.js";
import { makeTroupeFolder } from "../../host/workspace-file.js";
import { findWorkspaceHost, type WorkspaceHost } from "../../host/workspace-host-file.js";

/** How long a host may take until it can be joined, in milliseconds. Claude Code waits half a minute for a server. */
const START_MS = 25_000;
const LOOK_AGAIN_MS = 50;
/** Bytes of the log above which it begins anew. */
const MAX_LOG = 1_048_576;
/** Characters of the log that explain why there is no host. */
const LOG_TAIL = 600;

/**
 * Starts the host of a workspace, apart from this process: it lasts until nobody has needed it for a while.
 * @returns the host, or the one that another process started meanwhile; `undefined` when `signal` aborts.
 * @throws TroupeError `host_not_started`, with what its log says.
 */
export async function startBackgroundHost(
  workspace: string,
  {
    config,
    token,
    signal,
  }: { readonly config: string; readonly token: string; readonly signal: AbortSignal },
): Promise<WorkspaceHost | undefined> {
  const log = openLog(workspace);
  const main = fileURLToPath(new URL("../main.js", import.meta.url));
  // A session of its own: what ends the client's processes does not reach it.
  const child = spawn(process.execPath, [main, "serve", "--background", "--config", config], {
    cwd: workspace,
    detached: true,
    stdio: ["ignore", log.descriptor, log.descriptor],
  });
  closeSync(log.descriptor);
  let over = false;
  child.once("error", () => {
    over = true;
  });
  child.once("exit", () => {
    over = true;
  });
  child.unref();
  const until = systemClock.now() + START_MS;
  while (!signal.aborted && systemClock.now() < until) {
    // One that ended without a word found another host in its place.
    const ended = over;
    const host = await findWorkspaceHost(workspace, { token, signal });
    if (host !== undefined) return host;
    if (ended) break;
    await keptAlive(sleep(systemClock, LOOK_AGAIN_MS, signal));
  }
  if (signal.aborted) return undefined;
  throw new TroupeError("host_not_started", `No host could be started for ${workspace}.${log.said()}`);
}

interface Log {
  readonly descriptor: number;
  /** What was written since. */
  said(): string;
}

function openLog(workspace: string): Log {
  const file = join(makeTroupeFolder(workspace), "host.log");
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW = 0 } = constants;
  const descriptor = openSync(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  if (fstatSync(descriptor).size > MAX_LOG) ftruncateSync(descriptor);
  const { size } = fstatSync(descriptor);
  return {
    descriptor,
    said() {
      const text = readFileSync(file).subarray(size).toString("utf8").trim();
      return text === "" ? ` See ${file}.` : ` Its log says:\n${text.slice(-LOG_TAIL)}`;
    },
  };
}

/** Timers of the clock keep no process alive. */
async function keptAlive(waiting: Promise<void>): Promise<void> {
  const handle = setInterval(() => undefined, 2 ** 30);
  await waiting.finally(() => clearInterval(handle));
}
