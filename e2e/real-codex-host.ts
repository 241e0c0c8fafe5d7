import { createAgent } from "../src/core/agent.js";
import { codex } from "../src/drivers/codex/codex.js";
import { createHost, type Host } from "../src/host/host.js";
import { a2a } from "../src/remotes/a2a/a2a.js";
import { type ScriptedAgent, startScriptedAgent } from "../src/testing/a2a/start.js";
import { type ResponsesServer, startResponsesServer } from "../src/testing/responses/responses-server.js";
import type { ResponsesScript, SeenToolOutput } from "../src/testing/responses/script.js";
import { TestHost } from "../test/support/host.js";
import { type RealCodex, realCodex } from "./real-codex.js";

/** The credential that the host holds for the remote agent. Nobody else may ever see it. */
export const REMOTE_TOKEN = "remote-credential-that-stays-in-the-host";

/** Options of {@link startCodexHost}. */
export interface CodexHostOptions {
  /** What the model says. */
  readonly script: ResponsesScript;
  /** A model that the program knows changes which tools it offers. */
  readonly model?: string;
}

/** A whole host on free ports whose `codex` is the real Codex, with a scripted model and a scripted remote `research`. */
export class CodexHost extends TestHost {
  constructor(
    host: Host,
    url: string,
    remote: ScriptedAgent,
    readonly api: ResponsesServer,
    readonly program: RealCodex,
    /** The tokens that the runs got so far. */
    readonly tokens: readonly string[],
  ) {
    super(host, url, remote, program.workspace);
  }

  /** Starts (or attaches to) a run of Codex over HTTP. */
  override post(prompt: string, options: Parameters<TestHost["post"]>[1] = {}): Promise<Response> {
    return super.post(prompt, { agent: "codex", ...options });
  }

  /** The results that the model was shown in its last request. */
  modelSaw(): readonly SeenToolOutput[] {
    return this.api.requests.at(-1)?.conversation.toolOutputs ?? [];
  }

  /** The JSON of the result of this call as the model saw it, without the program's lines around it. */
  resultOf(callId: string): string {
    const text = this.modelSaw().find((seen) => seen.callId === callId)?.text ?? "";
    return text.slice(text.indexOf("{"));
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

/** Starts a {@link CodexHost}; close it with `await using`. */
export async function startCodexHost({ script, model }: CodexHostOptions): Promise<CodexHost> {
  const api = await startResponsesServer({ script });
  const program = await realCodex({ baseUrl: api.url, ...(model === undefined ? {} : { model }) });
  const remote = await startScriptedAgent({
    name: "Research Agent",
    tenant: "acme",
    token: REMOTE_TOKEN,
    paceMs: 0,
  });
  const tokens: string[] = [];
  const agent = createAgent(codex(program.options), {
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
    agents: { codex: agent },
    subAgents: [
      a2a({ name: "research", agentCardUrl: remote.cardUrl, auth: { mode: "bearer", token: REMOTE_TOKEN } }),
    ],
  });
  await host.probe();
  const { url } = await host.listen({ port: 0 });
  return new CodexHost(host, url, remote, api, program, tokens);
}
