import type { Message } from "@a2a-js/sdk";
import type { Clock } from "../../core/clock.js";
import { defined } from "../../core/defined.js";
import type { CreateId } from "../../core/ids.js";
import type { Journal } from "../../journal/journal.js";
import type { FaceCaller, FaceEvent, FaceRuns } from "./face-host.js";
import { FaceTask } from "./face-task.js";
import type { ExposurePolicy } from "./options.js";
import type { CallerAnswer } from "./questions.js";
import { TaskStore } from "./task-store.js";

/** Whose tasks are meant: those of one caller, at one agent, under one of the caller's own tenants. */
export class Scope {
  readonly key: string;

  constructor(
    readonly agent: string,
    readonly caller: FaceCaller,
    private readonly tenant: string,
  ) {
    this.key = JSON.stringify([agent, caller.tenant ?? "", tenant]);
  }

  /** The thread of a context. Contexts of other scopes, and threads of browsers, have other names. */
  threadId(contextId: string): string {
    return `a2a:${[this.agent, this.tenant, contextId].map(encodeURIComponent).join(":")}`;
  }
}

/** How one agent is run and shown. */
export interface AgentFace {
  readonly exposure: ExposurePolicy;
  readonly asks: boolean;
}

/** What {@link FaceTasks} works with. */
export interface FaceTasksOptions {
  readonly agents: ReadonlyMap<string, AgentFace>;
  readonly runs: FaceRuns;
  readonly journal: Journal<FaceEvent>;
  readonly threadKey: (caller: FaceCaller, threadId: string) => string;
  readonly clock: Clock;
  readonly createId: CreateId;
  readonly ttlMs: number;
  readonly maxEnded: number;
  readonly disconnectGraceMs?: number;
}

/** What a task begins with. */
export interface NewTask {
  readonly message: Message;
  readonly prompt: string;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  /** Whether it is cancelled when nobody waits for it any more. */
  readonly watched: boolean;
}

/** Starts tasks, finds them again, and answers what they ask. */
export class FaceTasks {
  readonly #store: TaskStore;

  constructor(private readonly options: FaceTasksOptions) {
    const { clock, ttlMs, maxEnded } = options;
    this.#store = new TaskStore({ clock, ttlMs, maxEnded });
  }

  get clock(): Clock {
    return this.options.clock;
  }

  /**
   * Starts a task: a run in the thread of its context.
   * @throws TroupeError what {@link FaceRuns.start} throws.
   */
  start(scope: Scope, { message, prompt, metadata, watched }: NewTask): FaceTask {
    const { runs, clock, disconnectGraceMs } = this.options;
    const task = this.#newTask(scope, message);
    const run = runs.start({
      agent: scope.agent,
      thread: task.thread,
      runId: task.id,
      messages: [{ id: message.messageId, text: prompt }],
      ...defined({ metadata }),
      ...(watched ? defined({ disconnectGraceMs }) : {}),
    });
    this.#keep(scope, message, task);
    void task.follow(run.first, run.unrecorded).then(() => this.#store.end(task, clock.now()));
    return task;
  }

  /** A task that ends before it begins: no run, and nothing in the journal. @param reason for the caller's eyes */
  refuse(scope: Scope, message: Message, reason: string): FaceTask {
    const task = this.#newTask(scope, message);
    this.#keep(scope, message, task);
    task.reject(reason);
    this.#store.end(task, this.options.clock.now());
    return task;
  }

  /** The task that the same message was for already. */
  duplicate(scope: Scope, message: Message): FaceTask | undefined {
    return this.#store.duplicate(scope.key, message);
  }

  /** Finds a task, in the journal if it is not at hand. */
  async find(scope: Scope, taskId: string): Promise<FaceTask | undefined> {
    return this.#store.get(scope.key, taskId) ?? (await this.#recover(scope, taskId));
  }

  list(scope: Scope): FaceTask[] {
    return this.#store.list(scope.key);
  }

  /** Waits until the task shows what the journal holds by now. */
  async reach(task: FaceTask, signal: AbortSignal): Promise<void> {
    await task.reach(await this.options.journal.head(task.thread), signal);
  }

  /** Somebody waits for the task. @returns what to call when that is over. */
  reading(task: FaceTask): () => void {
    return task.over ? () => undefined : this.options.runs.reading(task.thread);
  }

  /** Asks the task's run to end. */
  cancel(task: FaceTask, reason: string): void {
    void this.options.runs.cancel({ thread: task.thread, runId: task.id }, reason).catch(() => undefined);
  }

  /** Answers a question of the task. @returns whether it was still open. */
  async answer(
    scope: Scope,
    task: FaceTask,
    message: Message,
    { approval, decision }: CallerAnswer,
  ): Promise<boolean> {
    if (!(await this.options.runs.decide(scope.caller, approval.approvalId, decision))) return false;
    task.said({ ...message, contextId: task.contextId });
    this.#store.took(scope.key, message, task);
    return true;
  }

  /** What the journal has of a task of this scope that is not known here: it ended long ago, or with its host, or is another's. */
  async #recover(scope: Scope, taskId: string): Promise<FaceTask | undefined> {
    const [, encoded = ""] = /^[\w-]{1,128}\.([\w-]{1,1400})$/.exec(taskId) ?? [];
    const contextId = Buffer.from(encoded, "base64url").toString("utf8");
    if (contextId === "" || this.options.agents.get(scope.agent) === undefined) return undefined;
    const task = this.#task(scope, taskId, contextId, 0);
    if (this.options.runs.find(task.thread, taskId)?.run !== undefined) return undefined;
    const { journal, clock } = this.options;
    const span = (await journal.find?.({ runId: taskId, thread: task.thread }))?.at(-1);
    if (span !== undefined && span.last === undefined && journal.adopt !== undefined) {
      // Another host works on it. Should that one be dead, its heir will say so.
      this.#store.add(scope.key, task);
      void task.join(span.first).then(() => this.#store.end(task, clock.now()));
      return task;
    }
    const last = await task.recover();
    if (last === undefined || this.#store.isExpired(last)) return undefined;
    const known = this.#store.get(scope.key, taskId);
    if (known !== undefined) return known;
    this.#store.add(scope.key, task);
    this.#store.end(task, last);
    return task;
  }

  #newTask(scope: Scope, message: Message): FaceTask {
    const { createId, clock } = this.options;
    const contextId = message.contextId === "" ? createId("context") : message.contextId;
    // The context is within the id, so that a task can be found in the journal when nothing else knows of it.
    const taskId = `${createId("task")}.${Buffer.from(contextId).toString("base64url")}`;
    return this.#task(scope, taskId, contextId, clock.now());
  }

  #keep(scope: Scope, message: Message, task: FaceTask): void {
    this.#store.add(scope.key, task);
    this.#store.took(scope.key, message, task);
    task.said({ ...message, taskId: task.id, contextId: task.contextId });
  }

  #task(scope: Scope, taskId: string, contextId: string, startedAt: number): FaceTask {
    const { agents, journal, clock, runs, threadKey } = this.options;
    const thread = threadKey(scope.caller, scope.threadId(contextId));
    const face = agents.get(scope.agent);
    if (face === undefined) throw new TypeError(`There is no agent ${scope.agent} to be shown.`);
    return new FaceTask({
      ...face,
      taskId,
      contextId,
      thread,
      journal,
      startedAt,
      now: () => clock.now(),
      reading: () => runs.reading(thread),
    });
  }
}
