import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** An AG-UI server in a process of its own. */
export interface AguiServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the server of `agui-program.js`. It ends with its parent. */
export async function startAguiServer(): Promise<AguiServer> {
  const program = fileURLToPath(new URL("./agui-program.js", import.meta.url));
  const child = spawn(process.execPath, [program], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { PATH: process.env.PATH },
  });
  const gone = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const [url] = (await Promise.race([
    once(lines, "line"),
    gone.then(() => Promise.reject(new Error("The AG-UI server did not start."))),
  ])) as [string];
  return {
    url,
    async close() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}
