import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createAgent } from "../src/core/agent.js";
import { type GeminiOptions, gemini } from "../src/drivers/acp/presets.js";
import { createHost, type Host } from "../src/host/host.js";
import { a2a } from "../src/remotes/a2a/a2a.js";
import { type ScriptedAgent, startScriptedAgent } from "../src/testing/a2a/start.js";
import { type GeminiServer, startGeminiServer } from "../src/testing/gemini/gemini-server.js";
import type { GeminiScript, SeenFunctionResponse } from "../src/testing/gemini/script.js";
import { TestHost } from "../test/support/host.js";

/** The real Gemini CLI with an empty home of its own, talking to a scripted API. */
export interface RealGemini {
  /** Options of the driver. */
  readonly options: GeminiOptions;
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** An empty working directory. */
  readonly workspace: string;
  readonly home: string;
  /** Removes its directories. */
  close(): Promise<void>;
}

/** Each of these would call hosts outside. */
const QUIET = {
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
};

/** The credential that the host holds for the remote agent. Nobody else may ever see it. */
export const REMOTE_TOKEN = "remote-credential-that-stays-in-the-host";

/** The program of the version that `e2e/package-lock.json` holds. */
function realGeminiExecutable(): readonly [string, ...string[]] {
  const name = "@google/gemini-cli";
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
    return [process.execPath, join(folder, "bundle/gemini.js")];
  } catch (error) {
    throw new Error(`${name} is not installed; run "npm ci" in e2e/ first.`, { cause: error });
  }
}

/** Prepares the real program. It sees nothing of this machine's login, settings or environment, and connects to `baseUrl` only. */
export async function realGemini(baseUrl: string): Promise<RealGemini> {
  const home = await mkdtemp(join(tmpdir(), "troupe-e2e-"));
  const workspace = join(home, "workspace");
  await mkdir(workspace);
  const settings = join(home, "system-settings.json");
  await writeFile(settings, JSON.stringify(QUIET));
  return {
    workspace,
    home,
    options: { executable: realGeminiExecutable(), model: "gemini-2.5-pro" },
    env: {
      PATH: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
      HOME: home,
      GEMINI_API_KEY: "scripted-key",
      GOOGLE_GEMINI_BASE_URL: baseUrl,
      GEMINI_CLI_SYSTEM_SETTINGS_PATH: settings,
      // What it would send elsewhere all the same ends at a port where nobody listens.
      HTTPS_PROXY: "http://127.0.0.1:9",
      NO_PROXY: "127.0.0.1,localhost",
      // It would start itself again with more memory.
      GEMINI_CLI_NO_RELAUNCH: "true",
    },
    close: () => rm(home, { recursive: true, force: true, maxRetries: 3 }),
  };
}

/** A whole host on free ports whose `gemini` is the real Gemini CLI, with a scripted model and a scripted remote `research`. */
export class GeminiHost extends TestHost {
  constructor(
    host: Host,
    url: string,
    remote: ScriptedAgent,
    readonly api: GeminiServer,
    readonly program: RealGemini,
    /** The tokens that the runs got so far. */
    readonly tokens: readonly string[],
  ) {
    super(host, url, remote, program.workspace);
  }

  /** Starts (or attaches to) a run of Gemini CLI over HTTP. */
  override post(prompt: string, options: Parameters<TestHost["post"]>[1] = {}): Promise<Response> {
    return super.post(prompt, { agent: "gemini", ...options });
  }

  /** The results that the model was shown in its last request. */
  modelSaw(): readonly SeenFunctionResponse[] {
    return this.api.requests.at(-1)?.conversation.responses ?? [];
  }

  /** Everything that the model was ever sent. */
  allSent(): string {
    return JSON.stringify(this.api.requests);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.api.close();
    await this.program.close();
  }
}

/** Starts a {@link GeminiHost}; close it with `await using`. */
export async function startGeminiHost(script: GeminiScript): Promise<GeminiHost> {
  const api = await startGeminiServer({ script });
  const program = await realGemini(api.url);
  const remote = await startScriptedAgent({
    name: "Research Agent",
    tenant: "acme",
    token: REMOTE_TOKEN,
    paceMs: 0,
  });
  const tokens: string[] = [];
  const agent = createAgent(gemini(program.options), {
    workspace: program.workspace,
    env: program.env,
    services: [
      {
        name: "token-watch",
        attach: async ({ token }) => {
          tokens.push(token);
          return { detach: async () => undefined };
        },
      },
    ],
  });
  const host = await createHost({
    agents: { gemini: agent },
    subAgents: [
      a2a({ name: "research", agentCardUrl: remote.cardUrl, auth: { mode: "bearer", token: REMOTE_TOKEN } }),
    ],
  });
  await host.probe();
  const { url } = await host.listen({ port: 0 });
  return new GeminiHost(host, url, remote, api, program, tokens);
}
