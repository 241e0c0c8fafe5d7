import type { Server } from "node:http";
import { serve } from "@hono/node-server";

/** A server that listens. */
export interface Listener {
  readonly port: number;
  /** Ends open connections. */
  close(): Promise<void>;
}

/**
 * Listens with a Web-standard handler.
 * @param port 0 takes a free one.
 * @throws what Node says when it cannot listen, such as `EADDRINUSE`.
 */
export function listen(
  fetch: (request: Request) => Promise<Response> | Response,
  hostname: string,
  port: number,
): Promise<Listener> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch, hostname, port, overrideGlobalObjects: false }, (address) => {
      server.off("error", reject);
      resolve({ port: address.port, close: () => closeServer(server) });
    }) as Server;
    server.once("error", reject);
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
