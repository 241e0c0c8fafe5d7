import type {
  AgentCard,
  CancelTaskRequest,
  GetExtendedAgentCardRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  SubscribeToTaskRequest,
} from "@a2a-js/sdk";
import { type Message, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk";
import {
  A2AError,
  ExtendedAgentCardNotConfiguredError,
  PushNotificationNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import type { A2ARequestHandler, ServerCallContext } from "@a2a-js/sdk/server";
import { withinTime } from "../../core/clock.js";
import { TroupeError } from "../../core/errors.js";
import { logText } from "../../core/log-text.js";
import { METADATA_KEY } from "../../delegation/lineage.js";
import { originOf } from "../../delegation/run-origin.js";
import { callOf } from "./call.js";
import type { FaceTask } from "./face-task.js";
import { checkConfiguration, checkHistoryLength, checkMessage, isPlain, promptOf } from "./incoming.js";
import { readAnswer } from "./questions.js";
import { listTasks } from "./task-list.js";
import { type FaceTasks, Scope } from "./tasks.js";

/** What {@link FaceHandler} works with. */
export interface FaceHandlerOptions {
  readonly agent: string;
  /** The agent's name in lineages, which no agent of another host has. */
  readonly identity: string | undefined;
  readonly tasks: FaceTasks;
  readonly card: () => AgentCard;
  readonly extendedCard: ((url: string) => AgentCard) | undefined;
  /** How long a cancel waits for the run to be over, in milliseconds. */
  readonly cancelWaitMs: number;
}

/** How a caller waits: it decides whether its absence ends the run. */
type Mode = "stream" | "blocking" | "immediate";

interface Begun {
  readonly task: FaceTask;
  /** To be called when the caller waits no longer. */
  readonly left: () => void;
}

/** Answers the operations of A2A for one agent, out of the journal. */
export class FaceHandler implements A2ARequestHandler {
  constructor(private readonly options: FaceHandlerOptions) {}

  async getAgentCard(): Promise<AgentCard> {
    return this.options.card();
  }

  async getAuthenticatedExtendedAgentCard(
    _request: GetExtendedAgentCardRequest,
    context: ServerCallContext,
  ): Promise<AgentCard> {
    const card = this.options.extendedCard?.(callOf(context).url);
    if (card === undefined) throw new ExtendedAgentCardNotConfiguredError("This agent has no extended card.");
    return card;
  }

  async sendMessage(request: SendMessageRequest, context: ServerCallContext): Promise<Message | Task> {
    return guarded(async () => {
      const { configuration } = request;
      const immediate = configuration?.returnImmediately === true;
      const { task, left } = await this.#begin(request, context, immediate ? "immediate" : "blocking");
      try {
        if (!immediate) await task.settle(callOf(context).signal);
        return task.snapshot({ historyLength: configuration?.historyLength });
      } finally {
        left();
      }
    });
  }

  async *sendMessageStream(
    request: SendMessageRequest,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const { task, left } = await guarded(() => this.#begin(request, context, "stream"));
    try {
      const { historyLength } = request.configuration ?? {};
      yield* guardedStream(
        task.asks ? onlySnapshot(task) : task.stream(callOf(context).signal, { historyLength }),
      );
    } finally {
      left();
    }
  }

  async *resubscribe(
    { id, tenant }: SubscribeToTaskRequest,
    context: ServerCallContext,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const task = await guarded(() => this.#find(this.#scope(context, tenant), id, context));
    // Servers of 0.3 show the task and end; 1.0 (3.1.6) refuses.
    if (task.over && context.requestedVersion !== "0.3") {
      throw new UnsupportedOperationError("The task is over. Get it instead.");
    }
    const left = this.options.tasks.reading(task);
    try {
      yield* guardedStream(task.stream(callOf(context).signal));
    } finally {
      left();
    }
  }

  async getTask({ id, tenant, historyLength }: GetTaskRequest, context: ServerCallContext): Promise<Task> {
    return guarded(async () => {
      checkHistoryLength(historyLength);
      const task = await this.#find(this.#scope(context, tenant), id, context);
      // Who polls is there, too.
      this.options.tasks.reading(task)();
      return task.snapshot({ historyLength });
    });
  }

  async cancelTask({ id, tenant, metadata }: CancelTaskRequest, context: ServerCallContext): Promise<Task> {
    return guarded(async () => {
      const task = await this.#find(this.#scope(context, tenant), id, context);
      if (task.over) throw new TaskNotCancelableError("The task is over.");
      const given: unknown = metadata?.reason;
      const reason = typeof given === "string" && given.trim() !== "" ? given.slice(0, 200) : "by the caller";
      this.options.tasks.cancel(task, reason);
      const { signal } = callOf(context);
      await withinTime(this.options.tasks.clock, this.options.cancelWaitMs, task.end(signal));
      return task.snapshot();
    });
  }

  async listTasks(request: ListTasksRequest, context: ServerCallContext): Promise<ListTasksResponse> {
    return guarded(async () =>
      listTasks(this.options.tasks.list(this.#scope(context, request.tenant)), request),
    );
  }

  createTaskPushNotificationConfig(): Promise<never> {
    return noPush();
  }

  getTaskPushNotificationConfig(): Promise<never> {
    return noPush();
  }

  listTaskPushNotificationConfigs(): Promise<never> {
    return noPush();
  }

  deleteTaskPushNotificationConfig(): Promise<never> {
    return noPush();
  }

  #scope(context: ServerCallContext, tenant: string): Scope {
    const own = tenant || context.tenant || "";
    if (!isPlain(own)) throw new RequestMalformedError("tenant: no name.");
    return new Scope(this.options.agent, callOf(context).caller, own);
  }

  async #find(scope: Scope, id: string, context: ServerCallContext): Promise<FaceTask> {
    if (id.trim() === "") throw new RequestMalformedError("The task's id is missing.");
    const task = await this.options.tasks.find(scope, id);
    if (task === undefined) throw new TaskNotFoundError("There is no such task.");
    await this.options.tasks.reach(task, callOf(context).signal);
    return task;
  }

  async #begin(request: SendMessageRequest, context: ServerCallContext, mode: Mode): Promise<Begun> {
    const { tasks } = this.options;
    const scope = this.#scope(context, request.tenant);
    const message = checkMessage(request.message);
    checkConfiguration(request.configuration);
    const wait = (task: FaceTask): Begun => ({
      task,
      left: mode === "immediate" ? () => undefined : tasks.reading(task),
    });
    // Sent once more, after an answer that never arrived: it must not run twice.
    const known = tasks.duplicate(scope, message);
    if (known !== undefined) {
      await tasks.reach(known, callOf(context).signal);
      return wait(known);
    }
    if (message.taskId !== "") return this.#continue(scope, message, context, wait);
    const { headers } = callOf(context);
    const told = message.metadata?.[METADATA_KEY] ?? request.metadata?.[METADATA_KEY];
    const { metadata, refusal } = originOf(told, headers.get("traceparent"), this.options.identity);
    const prompt = promptOf(message);
    if (refusal !== undefined) return { task: tasks.refuse(scope, message, refusal), left: () => undefined };
    return wait(tasks.start(scope, { message, prompt, metadata, watched: mode !== "immediate" }));
  }

  async #continue(
    scope: Scope,
    message: Message,
    context: ServerCallContext,
    wait: (task: FaceTask) => Begun,
  ): Promise<Begun> {
    const { tasks } = this.options;
    const task = await this.#find(scope, message.taskId, context);
    if (message.contextId !== "" && message.contextId !== task.contextId) {
      throw new RequestMalformedError("message.contextId is not the task's.");
    }
    if (task.over) throw new UnsupportedOperationError("The task is over. Send a message without its id.");
    if (task.state !== TaskState.TASK_STATE_INPUT_REQUIRED) {
      throw new UnsupportedOperationError("The task is working and asks nothing.");
    }
    const answer = readAnswer(message, task.questions);
    if (answer === undefined) throw new RequestMalformedError("The task does not ask that.");
    // Waiting begins before the answer, or the run would be alone for a moment.
    const begun = wait(task);
    if (!(await tasks.answer(scope, task, message, answer))) {
      begun.left();
      throw new UnsupportedOperationError("The question was answered by somebody else.");
    }
    await tasks.reach(task, callOf(context).signal);
    return begun;
  }
}

async function* onlySnapshot(task: FaceTask): AsyncGenerator<StreamResponse, void, undefined> {
  yield { payload: { $case: "task", value: task.snapshot() } };
}

async function noPush(): Promise<never> {
  throw new PushNotificationNotSupportedError("This agent sends no push notifications.");
}

/** What a caller may know of an error: what was wrong with its request, and nothing of what went wrong here. */
function publicFailure(error: unknown): Error {
  if (error instanceof A2AError) return error;
  if (error instanceof TroupeError) {
    if (error.code === "thread_busy") {
      return new UnsupportedOperationError(
        "Another task of this context is still working. Wait for its end, or cancel it.",
      );
    }
    if (error.code === "host_busy")
      return new UnsupportedOperationError("Too many tasks at once. Try again when one of them is done.");
    if (error.code === "invalid_input") return new RequestMalformedError("The message cannot be taken.");
    if (error.code === "host_closed") return new Error("The agent's host is closing.");
  }
  console.error("Unexpected error while answering an A2A request:", logText(error));
  return new Error("The agent's host failed.");
}

async function guarded<Value>(operation: () => Promise<Value>): Promise<Value> {
  try {
    return await operation();
  } catch (error) {
    throw publicFailure(error);
  }
}

async function* guardedStream(
  stream: AsyncGenerator<StreamResponse, void, undefined>,
): AsyncGenerator<StreamResponse, void, undefined> {
  try {
    yield* stream;
  } catch (error) {
    throw publicFailure(error);
  }
}
