import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { CodexOptions } from "../src/drivers/codex/options.js";

/** The real program with an empty home of its own, talking to a scripted API. */
export interface RealCodex {
  /** Options of the driver. */
  readonly options: CodexOptions;
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** An empty working directory. */
  readonly workspace: string;
  /** Its `CODEX_HOME`. */
  readonly home: string;
  /** Removes its directories. */
  close(): Promise<void>;
}

/** Why the real program cannot be had here; `undefined` where it can. */
export const CODEX_MISSING =
  process.platform === "linux" && process.arch === "x64"
    ? undefined
    : `The real Codex is tried on linux-x64 only, and this is ${process.platform}-${process.arch}.`;

/** The path of the real Codex program, of the version that `e2e/package-lock.json` holds. */
export function realCodexExecutable(): string {
  const name = "@openai/codex-linux-x64";
  let folder: string;
  try {
    folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch (error) {
    throw new Error(`${name} is not installed; run "npm ci" in e2e/ first.`, { cause: error });
  }
  const file = join(folder, "vendor/x86_64-unknown-linux-musl/bin/codex");
  if (!existsSync(file)) throw new Error(`${file} is missing; run "npm ci" in e2e/ again.`);
  return file;
}

/**
 * Prepares the real program. It sees nothing of this machine's login, settings or environment, and connects to `baseUrl` only.
 * @param options.model one that the program knows changes which tools it offers.
 */
export async function realCodex(options: {
  readonly baseUrl: string;
  readonly model?: string;
}): Promise<RealCodex> {
  const directory = await mkdtemp(join(tmpdir(), "troupe-e2e-"));
  const home = join(directory, "codex");
  const workspace = join(directory, "workspace");
  await Promise.all([home, workspace].map((path) => mkdir(path)));
  return {
    workspace,
    home,
    options: {
      executable: realCodexExecutable(),
      model: options.model ?? "scripted-model",
      config: {
        model_provider: "scripted",
        model_providers: {
          scripted: {
            name: "scripted",
            base_url: options.baseUrl,
            wire_api: "responses",
            env_key: "SCRIPTED_KEY",
            request_max_retries: 0,
            stream_max_retries: 0,
          },
        },
        // Each of these would look up hosts outside.
        check_for_update_on_startup: false,
        analytics: { enabled: false },
        features: { plugins: false, apps: false, remote_plugin: false },
        tools: { update_plan: { enabled: true } },
      },
    },
    env: {
      PATH: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
      HOME: directory,
      CODEX_HOME: home,
      SCRIPTED_KEY: "scripted-key",
    },
    close: () => rm(directory, { recursive: true, force: true, maxRetries: 3 }),
  };
}
