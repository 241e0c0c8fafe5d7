import { type Message, Role, type StreamResponse, type Task, TaskState, type TaskStatus } from "@a2a-js/sdk";
import type { RemoteSignal } from "../../delegation/remote.js";
import { ArtifactAssembler } from "./artifacts.js";
import { isFinal, MAX_CLOSING_TEXT, MAX_STATUS_TEXT, safeId, spokenText, stateWord } from "./words.js";

/** Options of {@link StreamMapper}. */
export interface StreamMapperOptions {
  /** Removes credentials from what the remote says about itself. Default: nothing. */
  readonly redact?: (text: string) => string;
}

/** Turns one task's stream into signals. It does no I/O; feed it the responses in order and stop when {@link over}. */
export class StreamMapper {
  readonly #redact: (text: string) => string;
  readonly #artifacts = new ArtifactAssembler();
  #taskId: string | undefined;
  #contextId: string | undefined;
  #accepted = false;
  #over = false;
  #state: TaskState | undefined;

  constructor(options: StreamMapperOptions = {}) {
    this.#redact = options.redact ?? ((text) => text);
  }

  /** A final signal was given; nothing may follow. */
  get over(): boolean {
    return this.#over;
  }

  /** The remote is known to have taken the task. */
  get accepted(): boolean {
    return this.#accepted;
  }

  /** The remote waits for an answer; it may close its stream meanwhile. */
  get waitsForInput(): boolean {
    return this.#state === TaskState.TASK_STATE_INPUT_REQUIRED;
  }

  /** The signals of one response. What is not understood gives none. */
  map(response: StreamResponse): RemoteSignal[] {
    if (this.#over) return [];
    const { payload } = response;
    switch (payload?.$case) {
      case "task":
        return this.#task(payload.value);
      case "message":
        return this.#message(payload.value);
      case "statusUpdate": {
        const { taskId, contextId, status } = payload.value;
        return [...this.#accept(taskId, contextId), ...this.#status(status)];
      }
      case "artifactUpdate": {
        const { taskId, contextId, artifact, append, lastChunk } = payload.value;
        const accepted = this.#accept(taskId, contextId);
        return artifact ? [...accepted, ...this.#artifacts.update(artifact, append, lastChunk)] : accepted;
      }
      default:
        return [];
    }
  }

  #accept(taskId: string, contextId: string): RemoteSignal[] {
    const known =
      this.#accepted &&
      (taskId === "" || taskId === this.#taskId) &&
      (contextId === "" || contextId === this.#contextId);
    if (known) return [];
    this.#accepted = true;
    if (taskId !== "") this.#taskId = taskId;
    if (contextId !== "") this.#contextId = contextId;
    return [
      {
        type: "accepted",
        ...(this.#taskId === undefined ? {} : { taskId: this.#taskId }),
        ...(this.#contextId === undefined ? {} : { contextId: this.#contextId }),
      },
    ];
  }

  /** The history is left out: it repeats what was sent, and what the stream said. */
  #task(task: Task): RemoteSignal[] {
    const last = isFinal(task.status?.state);
    return [
      ...this.#accept(task.id, task.contextId),
      ...task.artifacts.flatMap((artifact) => this.#artifacts.snapshot(artifact, last)),
      ...this.#status(task.status),
    ];
  }

  #status(status: TaskStatus | undefined): RemoteSignal[] {
    if (status === undefined) return [];
    const { state } = status;
    const repeated = state === this.#state;
    this.#state = state;
    const text = (limit: number, name: "message" | "prompt") => {
      const spoken = spokenText(status.message, limit);
      return spoken === undefined ? {} : { [name]: this.#redact(spoken) };
    };
    if (isFinal(state)) {
      this.#over = true;
      const message = text(MAX_CLOSING_TEXT, "message");
      switch (state) {
        case TaskState.TASK_STATE_COMPLETED:
          return [{ type: "completed", ...message }];
        case TaskState.TASK_STATE_REJECTED:
          return [{ type: "rejected", ...message }];
        case TaskState.TASK_STATE_CANCELED:
          return [{ type: "cancelled", ...message }];
        default:
          return [{ type: "failed", ...message, remoteStatus: stateWord(state) }];
      }
    }
    if (state === TaskState.TASK_STATE_INPUT_REQUIRED) {
      return [{ type: "input_required", ...text(MAX_CLOSING_TEXT, "prompt") }];
    }
    if (state === TaskState.TASK_STATE_AUTH_REQUIRED) {
      return [{ type: "auth_required", ...text(MAX_CLOSING_TEXT, "prompt") }];
    }
    const message = text(MAX_STATUS_TEXT, "message");
    // A state that is only repeated is no news.
    if (repeated && !("message" in message)) return [];
    return [{ type: "status", status: stateWord(state), ...message }];
  }

  /** A message without a task is the whole answer; within a task it is a remark. The user's own come back as echoes. */
  #message(message: Message): RemoteSignal[] {
    const spoken = spokenText(message, MAX_STATUS_TEXT);
    if (this.#taskId !== undefined) {
      if (spoken === undefined) return [];
      return [{ type: "status", status: stateWord(this.#state), message: this.#redact(spoken) }];
    }
    if (message.role === Role.ROLE_USER) return [];
    this.#over = true;
    const id = safeId(message.messageId || "message");
    const text = spokenText(message, Number.POSITIVE_INFINITY);
    const attachments = message.parts.filter((part) => part.content?.$case !== "text");
    const files = this.#artifacts.update(
      { artifactId: id, name: "", description: "", parts: attachments, metadata: undefined, extensions: [] },
      false,
      true,
    );
    // No task id: such an answer can neither be looked up nor cancelled.
    return [
      ...this.#accept("", message.contextId),
      ...(text === undefined ? [] : [{ type: "text" as const, messageId: id, delta: text }]),
      ...files,
      { type: "completed" },
    ];
  }
}
