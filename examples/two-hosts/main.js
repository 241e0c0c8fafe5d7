// Two hosts on one Redis behind a balancer. Kill one of them while it works: the page goes on.
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { startScriptedAgent } from "troupe/testing";
import { createBalancer } from "./balancer.js";

const scripted = process.argv.includes("--scripted");
const remote = await startScriptedAgent({ name: "Research Agent", paceMs: 40 });
const redis = process.env.REDIS_URL === undefined ? await startRedis() : undefined;
const redisUrl = process.env.REDIS_URL ?? redis?.url ?? "";

/** @type {Map<import("node:child_process").ChildProcess, number>} hosts that are up, with their ports */
const hosts = new Map();

async function startHost() {
  const args = [redisUrl, remote.cardUrl, ...(scripted ? ["--scripted"] : [])];
  const child = fork(new URL("./host.js", import.meta.url), args);
  const [{ port }] = await once(child, "message");
  hosts.set(child, port);
  console.log(`Host      http://127.0.0.1:${port}   stop it with: kill -9 ${child.pid}`);
  child.once("exit", () => {
    hosts.delete(child);
    if (stopping) return;
    console.log(`Host ${child.pid} is gone; another one is started.`);
    void startHost();
  });
}

let stopping = false;
await startHost();
await startHost();
const balancer = createBalancer(() => [...hosts.values()]).listen(
  Number(process.env.PORT ?? 4100),
  "127.0.0.1",
);
await once(balancer, "listening");
const { port } = /** @type {import("node:net").AddressInfo} */ (balancer.address());
console.log(`Console   http://127.0.0.1:${port}/#thread=example`);

process.once("SIGINT", stop);
process.once("SIGTERM", stop);

async function stop() {
  stopping = true;
  balancer.closeAllConnections();
  balancer.close();
  await Promise.all(
    [...hosts.keys()].map((child) => {
      child.kill("SIGTERM");
      return once(child, "exit");
    }),
  );
  await remote.close();
  redis?.stop();
  process.exit();
}

/** A Redis of this example's own, where the program is installed. */
async function startRedis() {
  const place = createServer().listen(0, "127.0.0.1");
  await once(place, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (place.address());
  place.close();
  const server = spawn(
    "redis-server",
    ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", "/tmp"],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  server.once("error", () => {
    console.error("redis-server is not installed. Install it, or set REDIS_URL.");
    process.exit(1);
  });
  for await (const text of server.stdout) if (String(text).includes("Ready to accept")) break;
  return { url: `redis://127.0.0.1:${port}`, stop: () => server.kill() };
}
