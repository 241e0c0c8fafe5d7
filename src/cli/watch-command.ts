import { resolve } from "node:path";
import { findConfig } from "../config/load.js";
import { defined } from "../core/defined.js";
import { TroupeError } from "../core/errors.js";
import { findWorkspaceHost } from "../host/workspace-host-file.js";
import { workspaceOf } from "./bridge/bridge-file.js";
import { EXIT } from "./exit-code.js";
import { JsonScreen, LineScreen } from "./watch/line-screens.js";
import { TreeScreen } from "./watch/tree-screen.js";
import { Watcher, type WatchScreen } from "./watch/watcher.js";

/** Options of `troupe watch`. */
export interface WatchOptions {
  readonly config?: string;
  readonly url?: string;
  readonly thread?: string;
  readonly json?: boolean;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * `troupe watch`: shows what goes on in the workspace's host, until it is stopped.
 * @throws TroupeError `invalid_input` for an address that is none.
 */
export async function watchCommand({ config, url, thread, json }: WatchOptions): Promise<number> {
  if (url !== undefined && !/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ""))
    throw new TroupeError("invalid_input", "--url has to begin with http:// or https://.");
  const workspace = workspaceFolder(config);
  const stop = new AbortController();
  const end = () => stop.abort();
  // Who hides the cursor ends the process on a signal that nobody seems to listen to, as after `once`.
  for (const signal of SIGNALS) process.on(signal, end);
  process.stdout.once("error", end);
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  const screen = screenFor(json);
  try {
    const { signal } = stop;
    const findHost = async () => url ?? (await findWorkspaceHost(workspace, { signal }))?.url;
    const watching = new Watcher({ findHost, screen, signal, ...defined({ threadId: thread }) }).run();
    // Whatever still waits for a host has no say in when this ends.
    const stopped = new Promise<void>((done) =>
      signal.addEventListener("abort", () => done(), { once: true }),
    );
    await Promise.race([watching, stopped]);
    return EXIT.done;
  } finally {
    screen.close();
    clearInterval(keepAlive);
    for (const signal of SIGNALS) process.off(signal, end);
  }
}

/** The folder of the config that is named, or of the one here; else this folder. */
function workspaceFolder(config: string | undefined): string {
  const file = config ?? findConfig(process.cwd());
  return file === undefined ? process.cwd() : workspaceOf(resolve(file));
}

function screenFor(json: boolean | undefined): WatchScreen {
  if (json) return new JsonScreen();
  return process.stdout.isTTY ? new TreeScreen() : new LineScreen();
}
