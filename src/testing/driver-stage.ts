import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, type AgentOptions, createAgent } from "../core/agent.js";
import type { McpServer } from "../core/mcp-server.js";
import { type Run, RunError, type RunResult } from "../core/run.js";
import { isRunTerminal, type RunEvent } from "../core/run-event.js";
import { trackedGroups } from "../drivers/process/process-group.js";
import { startToolServer, type ToolServer, type ToolServerTool } from "./claude/tool-server.js";
import type { DriverKit, DriverStep, PlayedDriver } from "./driver-kit.js";

/** The credential of the tool server. It belongs to nobody but the driver and the program's MCP client. */
export const STAGE_TOKEN = "t0ken-of-the-run-that-nobody-may-see";

/** A run and all that it has emitted so far. */
export interface StagedRun {
  readonly run: Run;
  readonly events: readonly RunEvent[];
  /** Resolves with the first event that `matches`, also one that was emitted before; rejects when the run ends without it. */
  seen(matches: (event: RunEvent) => boolean): Promise<RunEvent>;
  /** The result of a run that failed or was cancelled. @throws when it finished. */
  failure(): Promise<RunError>;
}

/** What one check of the suite works with: directories, a tool server, and a driver's program that plays a scenario. */
export class DriverStage {
  readonly #kit: DriverKit;
  readonly #closing: (() => Promise<unknown>)[] = [];
  readonly #groups = new Set(trackedGroups());
  directory = "";
  workspace = "";
  home = "";

  constructor(kit: DriverKit) {
    this.#kit = kit;
  }

  async open(): Promise<void> {
    this.directory = await mkdtemp(join(tmpdir(), "troupe-driver-"));
    this.workspace = join(this.directory, "workspace");
    this.home = join(this.directory, "home");
    await Promise.all([this.workspace, this.home].map((path) => mkdir(path)));
  }

  async close(): Promise<void> {
    for (const close of this.#closing.splice(0).reverse()) await close();
    await rm(this.directory, { recursive: true, force: true, maxRetries: 3 });
    assert.deepEqual(this.groups(), [], "a process of the run is left over");
  }

  /** Leaders of the process groups that this check has started. */
  groups(): number[] {
    return trackedGroups().filter((group) => !this.#groups.has(group));
  }

  async play(
    steps: readonly DriverStep[],
    options: AgentOptions & { readonly forgetful?: boolean } = {},
  ): Promise<Agent> {
    const { forgetful = false, ...others } = options;
    return this.agent(await this.#kit.play({ steps, forgetful }), others);
  }

  agent(played: PlayedDriver, options: AgentOptions = {}): Agent {
    if (played.close) this.#closing.push(() => played.close?.() ?? Promise.resolve());
    const agent = createAgent(played.driver, {
      workspace: this.workspace,
      ...options,
      env: { HOME: this.home, ...played.env, ...options.env },
    });
    return {
      ...agent,
      run: (prompt, run) => {
        const started = agent.run(prompt, run);
        // A check that fails leaves its run behind.
        this.#closing.push(() => started.cancel("the check is over"));
        return started;
      },
    };
  }

  /** A tool server that wants {@link STAGE_TOKEN}. */
  async tools(
    tools: Readonly<Record<string, ToolServerTool>>,
    changes: { readonly trusted?: boolean } = {},
  ): Promise<{ readonly server: ToolServer; readonly mcpServers: readonly McpServer[] }> {
    const server = await startToolServer({ tools, token: STAGE_TOKEN });
    this.#closing.push(() => server.close());
    const headers = { Authorization: `Bearer ${STAGE_TOKEN}` };
    const mcp = { name: "a2a-subagents", transport: "http", url: server.url, headers } as const;
    return { server, mcpServers: [{ ...mcp, trusted: true, parallel: true, ...changes }] };
  }
}

/** Starts a run and records it. */
export function stageRun(
  agent: Agent,
  prompt = "Hello",
  options: Omit<NonNullable<Parameters<Agent["run"]>[1]>, "onEvent"> & {
    readonly watch?: (event: RunEvent) => void;
  } = {},
): StagedRun {
  const { watch, ...others } = options;
  const events: RunEvent[] = [];
  const watchers = new Set<(event: RunEvent) => void>();
  const run = agent.run(prompt, {
    ...others,
    onEvent: (event) => {
      events.push(event);
      watch?.(event);
      for (const watcher of watchers) watcher(event);
    },
  });
  return {
    run,
    events,
    seen: (matches) =>
      new Promise((resolve, reject) => {
        const early = events.find(matches);
        if (early) return resolve(early);
        watchers.add((event) => {
          if (matches(event)) resolve(event);
          else if (isRunTerminal(event))
            reject(new Error(`The run ended without the event. It emitted: ${JSON.stringify(events)}`));
        });
      }),
    failure: () =>
      run.result.then(
        (result: RunResult) => assert.fail(`The run finished: ${result.text}`),
        (error: unknown) => {
          assert.ok(error instanceof RunError, String(error));
          return error;
        },
      ),
  };
}

/**
 * Checks that events are well formed: the start first, one end last, and everything that starts ends once, in between.
 * @throws AssertionError
 */
export function checkGrammar(events: readonly RunEvent[]): void {
  assert.equal(events[0]?.type, "run.started");
  assert.deepEqual(
    events.flatMap((event, index) => (isRunTerminal(event) ? [index] : [])),
    [events.length - 1],
    "one terminal event, the last",
  );
  const open = new Map<string, string>();
  for (const event of events.slice(1, -1)) {
    assert.notEqual(event.type, "run.started");
    const [noun = "", verb = ""] = event.type.split(".");
    if ("messageId" in event) {
      const state = open.get(event.messageId);
      assert.equal(state, verb === "start" ? undefined : noun, `${event.type} of ${event.messageId}`);
      open.set(event.messageId, verb === "end" ? "over" : noun);
    } else if (noun === "tool" && "toolCallId" in event) {
      const before = { start: undefined, args: "start", end: "start", result: "end" }[verb];
      assert.equal(open.get(event.toolCallId), before, `${event.type} of ${event.toolCallId}`);
      open.set(event.toolCallId, verb === "args" ? "start" : verb === "result" ? "over" : verb);
    }
  }
  assert.deepEqual(
    [...open].filter(([, state]) => state !== "over"),
    [],
    "everything is closed",
  );
}

/** A call that nothing answers, but that ends when its caller goes away. */
export const endlessTool: ToolServerTool = {
  call: (_, context) =>
    new Promise((resolve) => {
      context.mcpReq.signal.addEventListener("abort", () => resolve({ content: [] }), { once: true });
    }),
};

/** A tool that answers this. */
export function answeringTool(summary: string): ToolServerTool {
  const answer = { summary };
  return {
    call: () => ({ content: [{ type: "text", text: JSON.stringify(answer) }], structuredContent: answer }),
  };
}

/** Adds a check to a list, to be run on a stage of its own. */
export type AddCheck = (name: string, check: (stage: DriverStage) => Promise<void>) => void;
