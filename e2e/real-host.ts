import { createAgent } from "../src/core/agent.js";
import { claude } from "../src/drivers/claude/claude.js";
import { createHost, type Host } from "../src/host/host.js";
import { a2a } from "../src/remotes/a2a/a2a.js";
import { type ScriptedAgent, startScriptedAgent } from "../src/testing/a2a/start.js";
import { type MessagesServer, startMessagesServer } from "../src/testing/messages/messages-server.js";
import type { MessagesScript, SeenToolResult } from "../src/testing/messages/script.js";
import { TestHost } from "../test/support/host.js";
import { type RealClaude, realClaude } from "./real-claude.js";

/** The credential that the host holds for the remote agent. Nobody else may ever see it. */
export const REMOTE_TOKEN = "remote-credential-that-stays-in-the-host";

/** Options of {@link startRealHost}. */
export interface RealHostOptions {
  /** What the model says. */
  readonly script: MessagesScript;
  /** Claude Code speaks MCP as before 2026-07-28. */
  readonly legacy?: boolean;
}

/** A whole host on free ports whose `claude` is the real Claude Code, with a scripted model and a scripted remote `research`. */
export class RealHost extends TestHost {
  constructor(
    host: Host,
    url: string,
    remote: ScriptedAgent,
    readonly api: MessagesServer,
    private readonly program: RealClaude,
    /** The tokens that the runs got so far. */
    readonly tokens: readonly string[],
  ) {
    super(host, url, remote, program.workspace);
  }

  get workingDirectory(): string {
    return this.program.workspace;
  }

  /** The results that the model was shown in its last request. */
  modelSaw(): readonly SeenToolResult[] {
    return this.api.requests.at(-1)?.conversation.toolResults ?? [];
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

/** Starts a {@link RealHost}; close it with `await using`. */
export async function startRealHost({ script, legacy = false }: RealHostOptions): Promise<RealHost> {
  const api = await startMessagesServer({ script });
  const program = await realClaude({ baseUrl: api.url, legacy });
  const remote = await startScriptedAgent({
    name: "Research Agent",
    tenant: "acme",
    token: REMOTE_TOKEN,
    paceMs: 0,
  });
  const tokens: string[] = [];
  const agent = createAgent(claude({ executable: program.executable }), {
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
    agents: { claude: agent },
    subAgents: [
      a2a({
        name: "research",
        agentCardUrl: remote.cardUrl,
        auth: { mode: "bearer", token: REMOTE_TOKEN },
      }),
    ],
  });
  await host.probe();
  const { url } = await host.listen({ port: 0 });
  return new RealHost(host, url, remote, api, program, tokens);
}
