import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentOptions } from "../../src/core/agent.js";
import { createAgent } from "../../src/core/agent.js";
import type { DelegationPolicy } from "../../src/delegation/policy.js";
import { claude } from "../../src/drivers/claude/claude.js";
import { createHost, type Host, type HostOptions } from "../../src/host/host.js";
import { a2a } from "../../src/remotes/a2a/a2a.js";
import {
  type ScriptedAgent,
  type ScriptedAgentOptions,
  startScriptedAgent,
} from "../../src/testing/a2a/start.js";
import type { Script } from "../../src/testing/claude/script.js";
import { scriptedClaude } from "../../src/testing/claude/start.js";

/** Options of {@link startTestHost}. */
export interface TestHostOptions {
  /** What the scripted Claude Code does; by default it delegates the prompt to `research`. */
  readonly script?: Script;
  /** Environment of the scripted Claude Code. */
  readonly env?: Record<string, string>;
  readonly remote?: ScriptedAgentOptions;
  readonly policy?: Partial<DelegationPolicy>;
  readonly host?: Partial<HostOptions>;
  readonly agent?: AgentOptions;
  /** Agents beside `claude`. */
  readonly agents?: HostOptions["agents"];
  /** Which era the scripted Claude Code speaks to the MCP endpoint. */
  readonly era?: "modern" | "legacy";
}

/** A whole host on free ports: scripted Claude Code as `claude`, the A2A SDK's server as `research`. */
export class TestHost implements AsyncDisposable {
  constructor(
    readonly host: Host,
    readonly url: string,
    readonly remote: ScriptedAgent,
    private readonly workspace: string,
  ) {}

  /** Starts (or attaches to) a run over HTTP. */
  post(
    prompt: string,
    options: {
      agent?: string;
      threadId?: string;
      runId?: string;
      query?: string;
      headers?: Record<string, string>;
      protocolVersion?: string;
    } = {},
  ): Promise<Response> {
    const { agent = "claude", threadId = "thread-1", runId = "run-1" } = options;
    const { query = "", headers = {}, protocolVersion } = options;
    const messages = [{ id: `${runId}-user`, role: "user", content: prompt }];
    const input = {
      threadId,
      runId,
      messages,
      state: {},
      tools: [],
      context: [],
      forwardedProps: {},
      protocolVersion,
    };
    return fetch(`${this.url}/agents/${agent}/run${query}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream", ...headers },
      body: JSON.stringify(input),
    });
  }

  get(path: string, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
    return fetch(this.url + path, { headers, ...(signal === undefined ? {} : { signal }) });
  }

  send(path: string, body: unknown = {}): Promise<Response> {
    return fetch(this.url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  }

  /** What the scripted Claude Code received: its MCP results as the model sees them, among others. */
  trace(): TraceLine[] {
    try {
      return readFileSync(this.traceFile, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    } catch {
      return [];
    }
  }

  get traceFile(): string {
    return join(this.workspace, "trace.jsonl");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.host.close();
    await this.remote.close();
    await rm(this.workspace, { recursive: true, force: true });
  }
}

/** One line of the scripted Claude Code's trace. */
export interface TraceLine {
  readonly [field: string]: unknown;
}

/** Starts a {@link TestHost}; close it with `await using`. */
export async function startTestHost(options: TestHostOptions = {}): Promise<TestHost> {
  const workspace = await mkdtemp(join(tmpdir(), "troupe-test-"));
  const remote = await startScriptedAgent({ name: "Research Agent", paceMs: 0, ...options.remote });
  const agent = createAgent(claude({ executable: scriptedClaude(), graceMs: 2_000 }), {
    workspace,
    ...options.agent,
    env: {
      TROUPE_TRACE: join(workspace, "trace.jsonl"),
      ...(options.script === undefined ? {} : { TROUPE_SCRIPT_JSON: JSON.stringify(options.script) }),
      ...(options.era === "legacy" ? { MCP_PROTOCOL_NEGOTIATION: "legacy" } : {}),
      ...options.env,
    },
  });
  const token = options.remote?.token;
  const host = await createHost({
    agents: { claude: agent, ...options.agents },
    subAgents: [
      a2a({
        name: "research",
        agentCardUrl: remote.cardUrl,
        ...(token === undefined ? {} : { auth: { mode: "bearer", token } }),
      }),
    ],
    ...(options.policy === undefined ? {} : { policy: options.policy }),
    ...options.host,
  });
  await host.probe();
  const { url } = await host.listen({ port: 0 });
  return new TestHost(host, url, remote, workspace);
}
