import { once } from "node:events";
import type { RemoteState } from "../delegation/directory.js";
import type { Host } from "../host/host.js";
import { flat } from "./tree/render.js";

/** Prints where a host listens; one JSON line for programs. */
export function announce(host: Host, url: string, json: boolean | undefined, lines: readonly string[]): void {
  if (json) console.log(JSON.stringify({ url, mcpUrl: host.mcpUrl }));
  else for (const line of lines) console.log(line);
}

/** Tells on standard error which remote agents do not answer. They are asked again when they are called. */
export function warnOfUnreachable(remotes: readonly RemoteState[]): void {
  for (const { key, status, problem } of remotes)
    if (status === "unreachable")
      console.error(`troupe: remote agent "${key}" cannot be reached. ${flat(problem ?? "")}`);
}

/** How {@link serveUntilStopped} ends. */
export interface Ending {
  /** Ends it as a signal does. */
  readonly idle?: Promise<void>;
  /** Called before the host closes. */
  readonly stopping?: () => void;
  /** How long what runs may go on after SIGTERM, in milliseconds; it is cancelled at once by default. */
  readonly drainMs?: number;
}

/**
 * Serves until SIGINT, SIGTERM or SIGHUP, then closes the host: runs are cancelled and their processes ended. SIGTERM is a planned
 * stop: what runs may end first, within a bound.
 * @param ready called when a signal would no longer end the process at once.
 */
export async function serveUntilStopped(
  host: Host,
  ready: () => Promise<void> | void,
  { idle, stopping, drainMs = 0 }: Ending = {},
): Promise<void> {
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  const waiting = new AbortController();
  const signal = (...names: NodeJS.Signals[]) => {
    const heard = names.map((name) => once(process, name, { signal: waiting.signal }).then(() => name));
    for (const hearing of heard) hearing.catch(() => undefined);
    return Promise.race(heard);
  };
  const stopped = signal("SIGINT", "SIGTERM", "SIGHUP");
  try {
    await ready();
    const why = await Promise.race([stopped, ...(idle ? [idle.then(() => "idle" as const)] : [])]);
    stopping?.();
    if (why === "idle") console.error("Stopping: nobody needed it for a while.");
    if (why === "SIGTERM" && drainMs > 0) {
      console.error(`\nStopping: what runs may end within ${drainMs / 1_000} s. Ctrl-C cancels it.`);
      await Promise.race([host.drain(drainMs), signal("SIGINT", "SIGTERM")]);
    } else if (why !== "idle")
      console.error("\nStopping: cancelling what still runs. Ctrl-C again quits at once.");
    process.once("SIGINT", () => process.exit(130));
    await host.close();
  } finally {
    waiting.abort();
    clearInterval(keepAlive);
  }
}
