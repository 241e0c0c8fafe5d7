import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { serve } from "@hono/node-server";
import { systemClock, withinTime } from "../core/clock.js";

/** For readers to get the end of a run that the closing cancelled. */
const LAST_WORDS_MS = 1_000;
const LOOK_AGAIN_MS = 10;

/** A server that listens. */
export interface Listener {
  readonly port: number;
  /** How many connections are open. */
  connections(): Promise<number>;
  /** Lets what is being answered come to its end, for a second at most, then ends all connections. */
  close(): Promise<void>;
}

/**
 * Listens with a Web-standard handler.
 * @param port 0 takes a free one.
 * @param upgrade takes connections over that ask for another protocol; they are the caller's own to end.
 * @throws what Node says when it cannot listen, such as `EADDRINUSE`.
 */
export function listen(
  fetch: (request: Request) => Promise<Response> | Response,
  hostname: string,
  port: number,
  upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
): Promise<Listener> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch, hostname, port, overrideGlobalObjects: false }, (address) => {
      server.off("error", reject);
      const connections = () =>
        new Promise<number>((tell) => server.getConnections((error, count) => tell(error ? 0 : count)));
      resolve({ port: address.port, connections, close: () => closeServer(server) });
    }) as Server;
    if (upgrade !== undefined) server.on("upgrade", upgrade);
    server.once("error", reject);
  });
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const until = systemClock.now() + LAST_WORDS_MS;
  let over = false;
  void closed.then(() => {
    over = true;
  });
  // A connection that becomes idle now would be kept alive for seconds.
  while (!over && systemClock.now() < until) {
    server.closeIdleConnections();
    await withinTime(systemClock, LOOK_AGAIN_MS, closed);
  }
  server.closeAllConnections();
  await closed;
}
