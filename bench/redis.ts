import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { tmpdir } from "node:os";

/** A Redis server of the benchmark's own; `undefined` where the program is not installed. */
export async function startRedis(): Promise<{ readonly url: string; stop(): void } | undefined> {
  const place = createServer().listen(0, "127.0.0.1");
  await once(place, "listening");
  const { port } = place.address() as { port: number };
  place.close();
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", tmpdir()];
  const server = spawn("redis-server", args, { stdio: ["ignore", "pipe", "ignore"] });
  const failed = once(server, "error").then(() => "failed");
  const ready = (async () => {
    for await (const text of server.stdout) if (String(text).includes("Ready to accept")) return "ready";
    return "failed";
  })();
  if ((await Promise.race([failed, ready])) === "failed") return undefined;
  return { url: `redis://127.0.0.1:${port}`, stop: () => server.kill() };
}
