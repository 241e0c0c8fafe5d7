import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const folder = process.env.TROUPE_PEERS ?? here(".peers");

/** What a foreign client printed: JSON lines where it could, text otherwise. */
export interface Printed {
  readonly lines: readonly Record<string, unknown>[];
  readonly text: string;
}

/** Runs a client of `test/interop/peers` to its end. */
export async function runClient(name: "ai-provider" | "ag-ui-a2a", ...args: string[]): Promise<Printed> {
  const own = installed("clients");
  // A program finds its packages beside itself.
  const script = join(own, `${name}.mjs`);
  copyFileSync(here(`peers/${name}.mjs`), script);
  return run([script, ...args], { HOME: folder });
}

/**
 * Runs Gemini CLI, whose model calls the agent of `card` with `text`.
 * @param model address of the scripted model
 */
export async function runGemini(model: string, card: string, text: string, token?: string): Promise<Printed> {
  const program = join(installed("gemini"), "node_modules/@google/gemini-cli/bundle/gemini.js");
  const home = await mkdtemp(join(tmpdir(), "troupe-gemini-"));
  try {
    mkdirSync(join(home, ".gemini/agents"), { recursive: true });
    const settings = {
      security: { auth: { selectedType: "gemini-api-key" } },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { enableAutoUpdate: false },
    };
    writeFileSync(join(home, ".gemini/settings.json"), JSON.stringify(settings));
    const auth = token === undefined ? "" : `auth:\n  type: http\n  scheme: Bearer\n  token: ${token}\n`;
    const agent = `---\nkind: remote\nname: helper\ndescription: Helps.\nagent_card_url: ${card}\n${auth}---\n`;
    writeFileSync(join(home, ".gemini/agents/helper.md"), agent);
    const prompt = `#tool invoke_agent ${JSON.stringify({ agent_name: "helper", prompt: text })}`;
    const options = ["-m", "gemini-2.5-pro", "--approval-mode", "yolo", "--output-format", "stream-json"];
    return await run(
      [program, ...options, "-p", prompt],
      {
        HOME: home,
        GEMINI_API_KEY: "none",
        GOOGLE_GEMINI_BASE_URL: model,
        GEMINI_CLI_TRUST_WORKSPACE: "true",
        GEMINI_CLI_NO_RELAUNCH: "true",
      },
      home,
    );
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

function installed(name: string): string {
  const own = join(folder, name);
  if (existsSync(join(own, "node_modules"))) return own;
  throw new Error(`${name} is not installed. Run: node test/interop/install.js`);
}

async function run(args: string[], more: Record<string, string>, cwd = folder): Promise<Printed> {
  const env = { PATH: process.env.PATH ?? "", ...more };
  const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "pipe"], env });
  let text = "";
  const add = (piece: string) => {
    text = (text + piece).slice(-200_000);
  };
  child.stdout.setEncoding("utf8").on("data", add);
  child.stderr.setEncoding("utf8").on("data", add);
  const limit = setTimeout(() => child.kill("SIGKILL"), 50_000);
  await once(child, "close");
  clearTimeout(limit);
  const lines = text.split("\n").flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      return typeof value === "object" && value !== null ? [value as Record<string, unknown>] : [];
    } catch {
      return [];
    }
  });
  return { lines, text };
}
