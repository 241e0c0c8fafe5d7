import { once } from "node:events";
import type { Host } from "../host/host.js";

/** Prints where a host listens; one JSON line for programs. */
export function announce(host: Host, url: string, json: boolean | undefined, lines: readonly string[]): void {
  if (json) console.log(JSON.stringify({ url, mcpUrl: host.mcpUrl }));
  else for (const line of lines) console.log(line);
}

/** Serves until SIGINT or SIGTERM, then closes the host: runs are cancelled and their processes ended. */
export async function serveUntilStopped(host: Host): Promise<void> {
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  const stop = new AbortController();
  await Promise.race([
    once(process, "SIGINT", { signal: stop.signal }),
    once(process, "SIGTERM", { signal: stop.signal }),
  ]);
  stop.abort();
  console.error("\nStopping: cancelling what still runs. Ctrl-C again quits at once.");
  process.once("SIGINT", () => process.exit(130));
  await host.close();
  clearInterval(keepAlive);
}
