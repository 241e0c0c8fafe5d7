import type { ThreadEvent } from "../../src/bridges/agui/event.js";
import type { Agent } from "../../src/core/agent.js";
import { defined } from "../../src/core/defined.js";
import { createMemoryArtifactStore } from "../../src/delegation/artifacts.js";
import { Delegator } from "../../src/delegation/delegator.js";
import { RemoteRegistry } from "../../src/delegation/registry.js";
import type { DelegationResult } from "../../src/delegation/result.js";
import { type AppOptions, createApp } from "../../src/host/app.js";
import type { Authorise } from "../../src/host/authoriser.js";
import { Commands } from "../../src/host/commands.js";
import { Presence } from "../../src/host/presence.js";
import { Runs } from "../../src/host/runs.js";
import { createMemoryJournal } from "../../src/journal/memory-journal.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { agentOf, FINISHED, type Play, untilAborted } from "./fake-agent.js";
import { FakeRemote } from "./fake-remote.js";

/** `Authorization: tenant NAME` says who one is. */
export const byHeader: Authorise = (request) => {
  const [, tenant] = /^tenant (.+)$/.exec(request.headers.get("authorization") ?? "") ?? [];
  return tenant === undefined ? undefined : { tenant };
};

/** The routes over fake agents, a fake remote and time that stands still, without any port. */
export class AppBench {
  readonly clock = new ManualClock();
  readonly remote = new FakeRemote();
  readonly journal = createMemoryJournal<ThreadEvent>({ clock: this.clock });
  readonly artifacts = createMemoryArtifactStore();
  readonly registry = new RemoteRegistry([{ remote: this.remote }], this.clock);
  readonly delegator: Delegator;
  readonly runs: Runs;
  readonly app: ReturnType<typeof createApp>;
  #count = 0;

  constructor(
    options: Partial<AppOptions> = {},
    {
      play = waiting,
      graceMs = 30_000,
      maxActive,
    }: { play?: Play; graceMs?: number; maxActive?: number } = {},
  ) {
    this.delegator = new Delegator({
      registry: this.registry,
      artifacts: this.artifacts,
      clock: this.clock,
      createId: (prefix) => `${prefix}-${++this.#count}`,
      correlationGraceMs: 0,
      record: ({ thread, runId }, event) => this.journal.append({ thread, runId, event }),
    });
    const agents = new Map<string, Agent>([
      ["claude", agentOf(play, { clock: this.clock }).agent],
      ["quick", agentOf(() => FINISHED, { clock: this.clock }).agent],
    ]);
    this.runs = new Runs({
      agents,
      record: (thread, runId, event) => this.journal.append({ thread, runId, event }),
      services: [],
      clock: this.clock,
      ...defined({ maxActive }),
    });
    const commands = new Commands({
      runs: () => this.runs,
      delegator: () => this.delegator,
      lateWork: () => {
        throw new Error("there is no other host");
      },
    });
    this.app = createApp(
      {
        agents,
        identityOf: (agent) => `host-1/${agent}`,
        runs: this.runs,
        commands,
        presence: new Presence({ runs: this.runs, commands, clock: this.clock }),
        journal: this.journal,
        delegator: this.delegator,
        registry: this.registry,
        artifacts: this.artifacts,
        clock: this.clock,
        heartbeatMs: 15_000,
        disconnectGraceMs: graceMs,
      },
      { hostnames: [], origins: [], ...options },
    );
  }

  /** A request to a route; `tenant` is who asks, under {@link byHeader}. */
  async fetch(
    path: string,
    { tenant, headers, ...init }: RequestInit & { tenant?: string } = {},
  ): Promise<Response> {
    const url = path.startsWith("http") ? path : `http://127.0.0.1:4100${path}`;
    return this.app.fetch(
      new Request(url, {
        ...init,
        headers: {
          ...(tenant === undefined ? {} : { authorization: `tenant ${tenant}` }),
          ...(headers as Record<string, string>),
        },
      }),
    );
  }

  post(path: string, body: unknown = {}, init: RequestInit & { tenant?: string } = {}): Promise<Response> {
    const headers = { "content-type": "application/json", ...(init.headers as Record<string, string>) };
    return this.fetch(path, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...init,
      headers,
    });
  }

  /** Starts or joins a run. */
  run(
    agent = "claude",
    {
      runId = "run-1",
      threadId = "thread-1",
      ...init
    }: RequestInit & { tenant?: string; runId?: string; threadId?: string } = {},
  ): Promise<Response> {
    return this.post(
      `/agents/${agent}/run`,
      { threadId, runId, messages: [{ id: "u", role: "user", content: "Hello" }] },
      init,
    );
  }

  /** A delegation of a thread that made one artifact. */
  async delegate(thread: string, runId = "run-1"): Promise<DelegationResult> {
    const input = { agent: "research", objective: "Find out" };
    const answer = this.delegator
      .openRun({ thread, runId })
      .delegate(input, { tool: "delegate_to_agent", input });
    await this.clock.advance(0);
    this.remote.tasks.at(-1)?.send(
      { type: "accepted", taskId: "task-1" },
      {
        type: "artifact",
        chunk: {
          id: "a",
          name: "Bericht für Ada'.md",
          mimeType: "text/markdown",
          mode: "replace",
          bytes: Buffer.from("secret bytes"),
          last: true,
        },
      },
      { type: "completed", message: "Done." },
    );
    return answer;
  }
}

async function waiting(...[, request]: Parameters<Play>) {
  await untilAborted(request);
  return { status: "cancelled" } as const;
}
