import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const folder = process.env.TROUPE_PEERS ?? here(".peers");

/** A foreign program that listens. */
export interface Program {
  /** What it printed as its address. */
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the scripted model. */
export function startModel(): Promise<Program> {
  return start(here("peers/model.mjs"), {});
}

/** Starts a foreign agent over `model`. */
export function startAgent(name: "mastra" | "adk" | "tanstack" | "strands", model: string): Promise<Program> {
  const own = join(folder, name);
  if (!existsSync(join(own, "node_modules"))) {
    throw new Error(`${name} is not installed. Run: node test/interop/install.js`);
  }
  // A program finds its packages beside itself.
  const script = join(own, "app.mjs");
  copyFileSync(here(`peers/${name}.mjs`), script);
  return start(script, {
    MODEL: model,
    GOOGLE_GEMINI_BASE_URL: model,
    GOOGLE_API_KEY: "none",
    GEMINI_API_KEY: "none",
    GOOGLE_GENAI_API_KEY: "none",
    MASTRA_TELEMETRY_DISABLED: "1",
  });
}

async function start(script: string, more: Record<string, string>): Promise<Program> {
  const env = { PATH: process.env.PATH ?? "", HOME: folder, ...more };
  const child: ChildProcess = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "pipe"], env });
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-2_000);
  });
  child.stdin?.on("error", () => undefined);
  const gone = once(child, "exit");
  if (child.stdout === null) throw new Error("No output.");
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise<string>((resolve, reject) => {
    lines.on("line", (line) => {
      if (/^http:\/\/127\.0\.0\.1:\d+/.test(line)) resolve(line.trim());
    });
    gone.then(() => reject(new Error(`${script} ended: ${errors}`)));
  });
  return {
    url,
    async close() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}
