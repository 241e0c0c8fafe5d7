import { resolve } from "node:path";
import { type ApprovalHandler, needsApprovals, type PermissionOptions } from "./approval.js";
import { type Clock, systemClock } from "./clock.js";
import { defined } from "./defined.js";
import type { Driver } from "./driver.js";
import { type CreateId, createToken, createId as defaultCreateId } from "./ids.js";
import type { McpServer } from "./mcp-server.js";
import { Run } from "./run.js";
import type { RunEvent, UserMessage } from "./run-event.js";
import type { RunService } from "./run-service.js";
import { createMemoryThreadStore, type ThreadChoice, type ThreadStore } from "./thread.js";

/** Options of {@link createAgent}; all have defaults that suit a developer's machine. */
export interface AgentOptions {
  /** Shown to people; the driver's name by default. */
  readonly name?: string;
  /** The program's working directory; the current one by default. */
  readonly workspace?: string;
  /** Added to the program's environment. Its tools can read it. */
  readonly env?: Readonly<Record<string, string>>;
  readonly mcpServers?: readonly McpServer[];
  readonly services?: readonly RunService[];
  /**
   * Who decides what the program asks: for permissions alone, or by kind (`permission`, `plan`, `question`). `ask` by default.
   * Anything but `allow` is refused with `capability_unsupported` when the driver's program never asks.
   */
  readonly permissions?: PermissionOptions;
  /** Decides approvals in code before a person is asked. */
  readonly onApproval?: ApprovalHandler;
  /** Milliseconds until an unanswered approval is denied; 5 minutes by default. */
  readonly approvalTimeoutMs?: number;
  readonly threads?: ThreadStore;
  readonly clock?: Clock;
  readonly createId?: CreateId;
}

/** Options of one run. */
export interface RunOptions extends ThreadChoice {
  readonly runId?: string;
  /** Opaque key of the conversation. Without one the run stands alone. */
  readonly thread?: string;
  /**
   * What was said in this conversation before, elsewhere. The program is told it before the prompt, but only when it has no
   * conversation of its own to go on from.
   */
  readonly history?: string;
  /** Cancels the run when it aborts. */
  readonly signal?: AbortSignal;
  readonly mcpServers?: readonly McpServer[];
  readonly services?: readonly RunService[];
  /** Goes to the services as it is: what they have to know of who started the run. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** The person's messages as a client names them; by default one message with the prompt. */
  readonly messages?: readonly UserMessage[];
  /** Gets each event at the moment it is emitted, instead of `run.events`. Must not throw. */
  readonly onEvent?: (event: RunEvent) => void;
}

/** A local agent that can be run. */
export interface Agent {
  readonly name: string;
  readonly driver: Driver;
  readonly workspace: string;
  /**
   * Starts a run at once. There is no other way to run an agent.
   * @throws nothing: whatever goes wrong is the run's terminal event, and `result` rejects with it.
   */
  run(prompt: string, options?: RunOptions): Run;
}

/**
 * Makes an agent from a driver.
 * @example
 * const agent = createAgent(claude({ model: "sonnet" }), { workspace: "./repo" });
 * const { text } = await agent.run("Fix the failing test").result;
 */
export function createAgent(driver: Driver, options: AgentOptions = {}): Agent {
  const clock = options.clock ?? systemClock;
  const createId = options.createId ?? defaultCreateId;
  const threads = options.threads ?? createMemoryThreadStore();
  const workspace = resolve(options.workspace ?? ".");
  const name = options.name ?? driver.describe().name;
  return {
    name,
    driver,
    workspace,
    run(prompt, run = {}) {
      return new Run({
        runId: run.runId ?? createId("run"),
        token: createToken(),
        agent: name,
        driver,
        messages: run.messages ?? [{ id: createId("msg"), text: prompt }],
        prompt,
        workspace,
        env: options.env ?? {},
        mcpServers: [...(options.mcpServers ?? []), ...(run.mcpServers ?? [])],
        services: [...(options.services ?? []), ...(run.services ?? [])],
        approvals: {
          permissions: options.permissions ?? "ask",
          required: options.permissions !== undefined && needsApprovals(options.permissions),
          timeoutMs: options.approvalTimeoutMs ?? 300_000,
          ...defined({ handler: options.onApproval }),
        },
        clock,
        createId,
        ...(run.thread === undefined
          ? {}
          : {
              thread: {
                key: run.thread,
                mode: run.threadMode ?? "continue",
                store: threads,
                ...defined({ from: run.threadFrom }),
              },
            }),
        ...defined({
          signal: run.signal,
          onEvent: run.onEvent,
          metadata: run.metadata,
          history: run.history,
        }),
      });
    },
  };
}
