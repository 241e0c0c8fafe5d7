import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy that cuts connections off. */
export interface CuttingProxy {
  readonly url: string;
  /**
   * From now on the first connection whose answer holds `count` server-sent events more than that is cut before the next one; the
   * others pass. A second call arms it again; without a count nothing is cut.
   */
  cutAfter(count: number | undefined): void;
  close(): Promise<void>;
}

/** Starts a proxy in front of `target`. */
export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let left: number | undefined;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(target).port), "127.0.0.1");
    keep(client);
    keep(upstream);
    client.pipe(upstream);
    upstream.on("data", (bytes) => {
      let rest = bytes;
      while (left !== undefined) {
        const start = rest.indexOf("data: ");
        if (start < 0) break;
        if (left === 0) {
          left = undefined;
          client.write(bytes.subarray(0, bytes.length - rest.length + start), () => client.destroy());
          upstream.destroy();
          return;
        }
        left--;
        rest = rest.subarray(start + 6);
      }
      client.write(bytes);
    });
    upstream.on("end", () => client.end());
    upstream.on("close", () => client.destroy());
    client.on("close", () => upstream.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAfter(count) {
      left = count;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
