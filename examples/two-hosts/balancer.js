// The smallest balancer that is one: each request goes to the next host, and to another when nobody is there.
import { createServer, request as send } from "node:http";

/**
 * @param {() => readonly number[]} ports of the hosts that may be there
 * @returns a server to be listened with
 */
export function createBalancer(ports) {
  let turn = 0;
  return createServer(async (incoming, outgoing) => {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const start = turn++;
    const order = ports().map((_port, index, all) => all[(start + index) % all.length]);
    const tryNext = () => {
      const port = order.shift();
      if (port === undefined) return outgoing.writeHead(502).end("No host is there.");
      const { method, url: path, headers } = incoming;
      const passed = send({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        // A host that dies in the middle of a stream: the page connects again, and goes on elsewhere.
        answer.on("error", () => outgoing.destroy());
        answer.pipe(outgoing);
      });
      passed.on("error", () => (outgoing.headersSent ? outgoing.destroy() : tryNext()));
      outgoing.on("close", () => passed.destroy());
      passed.end(body);
    };
    tryNext();
  });
}
