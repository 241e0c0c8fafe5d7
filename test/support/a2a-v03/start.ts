import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("./agent.js", import.meta.url));

/** A running agent of version 0.3. */
export interface LegacyAgent {
  readonly url: string;
  readonly cardUrl: string;
  seen(): Promise<readonly { readonly method: string; readonly params: Record<string, unknown> }[]>;
  close(): Promise<void>;
}

/** Starts an agent that is built on `@a2a-js/sdk` 0.3.14, in a process of its own. */
export async function startLegacyAgent(options: { readonly streaming?: boolean } = {}): Promise<LegacyAgent> {
  const args = options.streaming === false ? [PROGRAM, "--no-streaming"] : [PROGRAM];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.on("error", () => undefined);
  const gone = once(child, "exit");
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), "line"),
    gone.then(() => Promise.reject(new Error("The agent did not start."))),
  ])) as [string];
  const { url, card } = JSON.parse(line) as { url: string; card: string };
  return {
    url,
    cardUrl: card,
    seen: async () => (await fetch(`${url}/__seen`)).json(),
    async close() {
      child.kill("SIGTERM");
      await gone;
    },
  };
}
