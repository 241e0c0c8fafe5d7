import { createHash } from "node:crypto";
import type { Message } from "@a2a-js/sdk";
import type { Clock } from "../../core/clock.js";
import type { FaceTask } from "./face-task.js";

/** What {@link TaskStore} keeps, and how long. */
export interface TaskStoreOptions {
  readonly clock: Clock;
  /** Milliseconds that a task is remembered after its end. */
  readonly ttlMs: number;
  /** Ended tasks that are remembered; beyond it those that ended first are forgotten. */
  readonly maxEnded: number;
}

interface Stored {
  readonly task: FaceTask;
  readonly scope: string;
  readonly messages: string[];
  /** The message that began it, while nothing shows that its caller knows of the task. */
  opening?: string;
  endedAt?: number;
}

/** The tasks of all callers. A task is found under its scope only, so that one of another caller is not there at all. */
export class TaskStore {
  readonly #tasks = new Map<string, Stored>();
  readonly #byMessage = new Map<string, Stored>();
  /** In the order of their ends. */
  readonly #ended = new Set<Stored>();

  constructor(private readonly options: TaskStoreOptions) {}

  /** Keeps a task. */
  add(scope: string, task: FaceTask): void {
    this.#sweep();
    this.#tasks.set(task.id, { task, scope, messages: [] });
  }

  /** Notes that a task is over; its time to live begins at `time`. */
  end(task: FaceTask, time: number): void {
    const stored = this.#tasks.get(task.id);
    if (stored === undefined) return;
    stored.endedAt = time;
    this.#ended.add(stored);
    this.#sweep();
  }

  /** The task that a caller names. */
  get(scope: string, taskId: string): FaceTask | undefined {
    this.#sweep();
    const stored = this.#tasks.get(taskId);
    if (stored?.scope !== scope) return undefined;
    // Who names the task had its answer: the first message, sent again, is then no repetition.
    if (stored.opening !== undefined) this.#byMessage.delete(stored.opening);
    delete stored.opening;
    return stored.task;
  }

  /** All tasks of a scope. */
  list(scope: string): FaceTask[] {
    this.#sweep();
    return [...this.#tasks.values()].filter((stored) => stored.scope === scope).map(({ task }) => task);
  }

  /** Whether a time is so long ago that a task that ended then is forgotten. */
  isExpired(time: number): boolean {
    return this.options.clock.now() - time > this.options.ttlMs;
  }

  /**
   * The task that the same message was for, when it may be sent again because its answer was lost. The content counts as well:
   * clients exist that give every first message the same id.
   */
  duplicate(scope: string, message: Message): FaceTask | undefined {
    this.#sweep();
    return this.#byMessage.get(messageKey(scope, message))?.task;
  }

  /** Notes that a message was taken for a task. */
  took(scope: string, message: Message, task: FaceTask): void {
    const stored = this.#tasks.get(task.id);
    if (stored === undefined) return;
    const key = messageKey(scope, message);
    this.#byMessage.set(key, stored);
    stored.messages.push(key);
    if (stored.messages.length === 1) stored.opening = key;
  }

  #sweep(): void {
    for (const stored of this.#ended) {
      const old = stored.endedAt !== undefined && this.isExpired(stored.endedAt);
      if (!old && this.#ended.size <= this.options.maxEnded) return;
      this.#ended.delete(stored);
      this.#tasks.delete(stored.task.id);
      for (const key of stored.messages) this.#byMessage.delete(key);
    }
  }
}

function messageKey(scope: string, { messageId, contextId, taskId, parts }: Message): string {
  const content = createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
  return JSON.stringify([scope, messageId, contextId, taskId, content]);
}
