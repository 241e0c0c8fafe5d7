import type { Artifact, Message, Part, Task, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { Role, TaskState } from "@a2a-js/sdk";
import {
  AgentEvent,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from "@a2a-js/sdk/server";
import { type Clock, sleep } from "../../core/clock.js";
import { parseScript, type Script, type ScriptStep } from "./script.js";

/** What the executor may do to the HTTP response that streams a message's task. */
export interface StreamHandle {
  /** Destroys the socket. */
  drop(): void;
  /** Ends the response. */
  end(): void;
  /** Sends another status update after the server's last event, `delay` milliseconds later. */
  appendAtEnd(event: TaskStatusUpdateEvent, delay: number): void;
}

/** Options of {@link ScriptedExecutor}. */
export interface ScriptedExecutorOptions {
  readonly clock: Clock;
  /** Milliseconds between two steps. */
  readonly paceMs: number;
  /** The open stream of a message, by the message's id. */
  stream(messageId: string): StreamHandle | undefined;
}

const STATES = {
  completed: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
  rejected: TaskState.TASK_STATE_REJECTED,
};

/** Bytes of one chunk of a file. */
const FILE_CHUNK = 64 * 1024;

interface Running {
  readonly controller: AbortController;
  readonly stubborn: boolean;
  readonly contextId: string;
}

/** Does what {@link parseScript} finds in the message. */
export class ScriptedExecutor implements AgentExecutor {
  readonly #options: ScriptedExecutorOptions;
  readonly #running = new Map<string, Running>();

  constructor(options: ScriptedExecutorOptions) {
    this.#options = options;
  }

  async execute(request: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const text = request.userMessage.parts
      .map((item) => (item.content?.$case === "text" ? item.content.value : ""))
      .join("\n");
    const script: Script = request.task
      ? {
          steps: [
            { do: "say", text: `You answered: ${text}` },
            { do: "end", state: "completed", text: "Done." },
          ],
        }
      : parseScript(text);
    const first = script.steps[0];
    if (first?.do === "message") {
      bus.publish(AgentEvent.message(message(first.text, { contextId: request.contextId, taskId: "" })));
      bus.finished();
      return;
    }
    const controller = new AbortController();
    const stubborn = script.steps.some((step) => step.do === "hang" && step.stubborn);
    this.#running.set(request.taskId, { controller, stubborn, contextId: request.contextId });
    const turn = new Turn(request, bus);
    turn.open();
    for (const step of script.steps) {
      await sleep(this.#options.clock, this.#options.paceMs, controller.signal);
      if (controller.signal.aborted) return;
      if (await this.#perform(step, turn, script, controller.signal)) return;
    }
  }

  /** @returns whether the turn is over. */
  async #perform(step: ScriptStep, turn: Turn, script: Script, signal: AbortSignal): Promise<boolean> {
    const { clock, paceMs } = this.#options;
    const stream = this.#options.stream(turn.messageId);
    switch (step.do) {
      case "status":
        turn.status(TaskState.TASK_STATE_WORKING, step.text);
        return false;
      case "say":
        turn.say(step.text, step.message);
        return false;
      case "artifact":
        turn.file(step.name, step.mediaType, step.bytes);
        return false;
      case "wait":
        await sleep(clock, step.milliseconds, signal);
        return signal.aborted;
      case "hang":
        turn.status(TaskState.TASK_STATE_WORKING, "Working without end");
        await new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => resolve(), { once: true }),
        );
        return true;
      case "input":
        turn.status(TaskState.TASK_STATE_INPUT_REQUIRED, step.text);
        this.#running.delete(turn.taskId);
        turn.finish();
        return true;
      case "auth":
        turn.status(TaskState.TASK_STATE_AUTH_REQUIRED, step.text);
        await sleep(clock, paceMs * 4, signal);
        if (!signal.aborted) turn.status(TaskState.TASK_STATE_WORKING, "Signed in");
        return signal.aborted;
      case "drop":
        stream?.drop();
        return false;
      case "endstream":
        stream?.end();
        return false;
      case "end": {
        const extra = script.extraTerminal;
        if (extra) {
          const state = extra === "duplicate" ? STATES[step.state] : TaskState.TASK_STATE_FAILED;
          stream?.appendAtEnd(turn.update(state, "Once more."), extra === "duplicate" ? 0 : 50);
        }
        turn.status(STATES[step.state], step.text);
        this.#running.delete(turn.taskId);
        turn.finish();
        return true;
      }
      case "message":
        return true;
    }
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    const running = this.#running.get(taskId);
    if (running?.stubborn) return new Promise(() => undefined);
    running?.controller.abort();
    this.#running.delete(taskId);
    const contextId = running?.contextId ?? "";
    bus.publish(
      AgentEvent.statusUpdate({
        taskId,
        contextId,
        status: status(TaskState.TASK_STATE_CANCELED, message("Stopped.", { contextId, taskId })),
        metadata: undefined,
      }),
    );
    bus.finished();
  }
}

/** Publishes the events of one turn. */
class Turn {
  readonly #request: RequestContext;
  readonly #bus: ExecutionEventBus;
  readonly #said = new Set<string>();
  #files = 0;

  constructor(request: RequestContext, bus: ExecutionEventBus) {
    this.#request = request;
    this.#bus = bus;
  }

  get taskId(): string {
    return this.#request.taskId;
  }

  get messageId(): string {
    return this.#request.userMessage.messageId;
  }

  open(): void {
    const { taskId, contextId, userMessage, task } = this.#request;
    const state = task ? TaskState.TASK_STATE_WORKING : TaskState.TASK_STATE_SUBMITTED;
    const opened: Task = {
      id: taskId,
      contextId,
      status: status(state, undefined),
      artifacts: task?.artifacts ?? [],
      history: [userMessage],
      metadata: undefined,
    };
    this.#bus.publish(AgentEvent.task(opened));
  }

  update(state: TaskState, text: string): TaskStatusUpdateEvent {
    const { taskId, contextId } = this.#request;
    return {
      taskId,
      contextId,
      status: status(state, message(text, { taskId, contextId })),
      metadata: undefined,
    };
  }

  status(state: TaskState, text: string): void {
    this.#bus.publish(AgentEvent.statusUpdate(this.update(state, text)));
  }

  /** @param message the message that goes on, or begins. */
  say(text: string, message = "assistant-output"): void {
    const words = [part({ $case: "text", value: text }, "text/plain")];
    this.#artifact(message, "assistant-output", words, this.#said.has(message), false);
    this.#said.add(message);
  }

  file(name: string, mediaType: string, bytes: Uint8Array): void {
    const id = `file-${++this.#files}`;
    for (let offset = 0; offset === 0 || offset < bytes.length; offset += FILE_CHUNK) {
      const chunk = Buffer.from(bytes.subarray(offset, offset + FILE_CHUNK));
      const last = offset + FILE_CHUNK >= bytes.length;
      this.#artifact(id, name, [part({ $case: "raw", value: chunk }, mediaType, name)], offset > 0, last);
    }
  }

  finish(): void {
    this.#bus.finished();
  }

  #artifact(artifactId: string, name: string, parts: Part[], append: boolean, lastChunk: boolean): void {
    const { taskId, contextId } = this.#request;
    const artifact: Artifact = {
      artifactId,
      name,
      description: "",
      parts,
      metadata: undefined,
      extensions: [],
    };
    this.#bus.publish(
      AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: undefined }),
    );
  }
}

function status(state: TaskState, words: Message | undefined): NonNullable<Task["status"]> {
  return { state, message: words, timestamp: new Date().toISOString() };
}

function message(text: string, ids: { readonly taskId: string; readonly contextId: string }): Message {
  return {
    messageId: crypto.randomUUID(),
    ...ids,
    role: Role.ROLE_AGENT,
    parts: [part({ $case: "text", value: text }, "")],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function part(content: Part["content"], mediaType: string, filename = ""): Part {
  return { content, metadata: undefined, filename, mediaType };
}
