import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PROGRAM = "redis-server";

/** Why there is no server to test with; `undefined` when there is one. */
export const noRedis = (() => {
  try {
    execFileSync(PROGRAM, ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return `${PROGRAM} is not installed`;
  }
})();

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** A Redis server of a test's own, which keeps what it has when it is killed. */
export class RedisServer implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "troupe-redis-"));
  #process: ChildProcess | undefined;

  private constructor(private readonly port: number) {}

  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await freePort());
    await server.restart();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async kill(): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    this.#process = undefined;
    const gone = once(process, "exit");
    process.kill("SIGKILL");
    await gone;
  }

  async restart(): Promise<void> {
    await this.kill();
    const own = ["--port", String(this.port), "--bind", "127.0.0.1", "--dir", this.#folder];
    const keeping = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];
    this.#process = spawn(PROGRAM, [...own, ...keeping], { stdio: ["ignore", "pipe", "ignore"] });
    let said = "";
    for await (const text of this.#process.stdout ?? []) {
      said += text;
      if (said.includes("Ready to accept connections")) return;
    }
    throw new Error(`${PROGRAM} did not start:\n${said}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
