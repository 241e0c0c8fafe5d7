import type { Clock } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import type { DelegationState } from "../../delegation/delegation-state.js";
import type { DelegationResult } from "../../delegation/result.js";
import type { RunDelegations } from "../../delegation/run-delegations.js";
import type { Questions } from "./questions.js";
import type { McpAnswer, McpTask, McpTasks } from "./tool.js";

interface Times {
  readonly created: number;
  readonly updated: number;
  /** What was told at that time. */
  readonly told: string;
}

/** The delegations of one run as tasks of the extension `io.modelcontextprotocol/tasks`: a task's id is the delegation's. */
export class DelegationTasks implements McpTasks {
  readonly #times = new Map<string, Times>();

  constructor(
    private readonly delegations: RunDelegations,
    private readonly questions: Questions | undefined,
    private readonly answer: (result: DelegationResult) => McpAnswer,
    private readonly clock: Clock,
  ) {}

  get(taskId: string): McpTask | undefined {
    const state = this.delegations.state(taskId);
    if (state === undefined) return undefined;
    const form = this.questions?.form(taskId);
    const returned = this.#returned(state);
    const status = statusOf(returned, form !== undefined);
    const statusMessage = messageOf(state);
    const { created, updated } = this.#seen(taskId, `${status} ${statusMessage}`);
    return {
      taskId,
      status,
      statusMessage,
      createdAt: new Date(created).toISOString(),
      lastUpdatedAt: new Date(updated).toISOString(),
      ...defined({ form }),
      ...(returned === undefined ? {} : { answer: this.answer(returned) }),
    };
  }

  cancel(taskId: string): boolean {
    if (this.delegations.state(taskId) === undefined) return false;
    void this.delegations.cancel(taskId, "the parent agent stopped it").catch(() => undefined);
    return true;
  }

  async update(taskId: string, answers: Readonly<Record<string, unknown>>): Promise<boolean> {
    if (this.delegations.state(taskId) === undefined) return false;
    await this.questions?.take(taskId, answers);
    return true;
  }

  /** What the parent's model gets now: the end, or a question that is its own to answer. */
  #returned(state: DelegationState): DelegationResult | undefined {
    if (state.answer !== undefined) return state.answer;
    if (state.question === undefined || state.inputRequired !== "return") return undefined;
    return this.delegations.snapshot(state.identity.delegationId);
  }

  #seen(taskId: string, told: string): Times {
    const now = this.clock.now();
    const before = this.#times.get(taskId);
    if (before?.told === told) return before;
    const times = { created: before?.created ?? now, updated: now, told };
    this.#times.set(taskId, times);
    return times;
  }
}

/** A failed delegation is a completed task: `failed` is for errors of the protocol itself (SEP-2663). */
function statusOf(returned: DelegationResult | undefined, asks: boolean): McpTask["status"] {
  if (returned !== undefined) return returned.status === "cancelled" ? "cancelled" : "completed";
  return asks ? "input_required" : "working";
}

function messageOf({ identity, status, question, stop, answer }: DelegationState): string {
  if (answer !== undefined) return answer.error?.message ?? answer.status;
  if (question !== undefined) return `${identity.agentKey} asks: ${question.prompt}`.slice(0, 300);
  if (stop !== undefined) return `${identity.agentKey}: stopping`;
  return `${identity.agentKey}: ${status === undefined || status === "input-required" ? "working" : status}`;
}
