import { once } from "node:events";
import type { RemoteState } from "../delegation/directory.js";
import type { Host } from "../host/host.js";

/** Prints where a host listens; one JSON line for programs. */
export function announce(host: Host, url: string, json: boolean | undefined, lines: readonly string[]): void {
  if (json) console.log(JSON.stringify({ url, mcpUrl: host.mcpUrl }));
  else for (const line of lines) console.log(line);
}

/** Tells on standard error which remote agents do not answer. They are asked again when they are called. */
export function warnOfUnreachable(remotes: readonly RemoteState[]): void {
  for (const { key, status, problem } of remotes)
    if (status === "unreachable")
      console.error(`troupe: remote agent "${key}" cannot be reached. ${problem ?? ""}`);
}

/**
 * Serves until SIGINT, SIGTERM or SIGHUP, then closes the host: runs are cancelled and their processes ended.
 * @param ready called when a signal would no longer end the process at once.
 * @param ending `idle` ends it as a signal does; `stopping` is called before the host closes.
 */
export async function serveUntilStopped(
  host: Host,
  ready: () => Promise<void> | void,
  ending: { readonly idle?: Promise<void>; readonly stopping?: () => void } = {},
): Promise<void> {
  const { idle, stopping } = ending;
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  const waiting = new AbortController();
  const stopped = Promise.race(
    ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => once(process, name, { signal: waiting.signal })),
  );
  stopped.catch(() => undefined);
  try {
    await ready();
    const isIdle = await Promise.race([stopped.then(() => false), ...(idle ? [idle.then(() => true)] : [])]);
    waiting.abort();
    stopping?.();
    if (isIdle) console.error("Stopping: nobody needed it for a while.");
    else console.error("\nStopping: cancelling what still runs. Ctrl-C again quits at once.");
    process.once("SIGINT", () => process.exit(130));
    await host.close();
  } finally {
    waiting.abort();
    clearInterval(keepAlive);
  }
}
