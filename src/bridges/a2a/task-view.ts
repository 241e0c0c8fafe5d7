import { type Artifact, type Message, type Part, type Task, TaskState, type TaskStatus } from "@a2a-js/sdk";
import type { TaskUpdate } from "./encoder.js";
import type { TaskIdentity } from "./vocabulary.js";

/** An artifact while it grows; text is joined when somebody looks. */
interface GrowingArtifact {
  readonly artifact: Artifact;
  readonly parts: GrowingPart[];
}

interface GrowingPart {
  readonly part: Part;
  readonly pieces: string[];
}

/** How much of a task a snapshot shows. */
export interface SnapshotOptions {
  /** Newest messages of the history; all when absent, none for 0. */
  readonly historyLength?: number | undefined;
  /** Default `true`. */
  readonly artifacts?: boolean;
}

/** Whether a task in this state can never change again. */
export function isFinalState(state: TaskState): boolean {
  return (
    state === TaskState.TASK_STATE_COMPLETED ||
    state === TaskState.TASK_STATE_FAILED ||
    state === TaskState.TASK_STATE_CANCELED ||
    state === TaskState.TASK_STATE_REJECTED
  );
}

/** A task as its updates made it. Each update costs the same, however many came before. */
export class TaskView {
  readonly #artifacts = new Map<string, GrowingArtifact>();
  readonly #history: Message[] = [];
  #kept: Message | undefined;
  #status: TaskStatus;

  constructor(
    private readonly identity: TaskIdentity,
    time: number,
  ) {
    this.#status = {
      state: TaskState.TASK_STATE_SUBMITTED,
      message: undefined,
      timestamp: new Date(time).toISOString(),
    };
  }

  get state(): TaskState {
    return this.#status.state;
  }

  /** When the state last changed: ISO 8601. */
  get timestamp(): string {
    return this.#status.timestamp ?? "";
  }

  /** Notes a message of the caller. */
  said(message: Message): void {
    this.#keepStatusMessage();
    this.#history.push(message);
  }

  /** Takes one update in. Nothing changes after the end. */
  apply(update: TaskUpdate): void {
    if (isFinalState(this.state)) return;
    if (update.$case === "statusUpdate") {
      const { status } = update.value;
      if (status === undefined) return;
      this.#keepStatusMessage();
      this.#status = status;
      return;
    }
    const { artifact, append } = update.value;
    if (artifact === undefined) return;
    const known = append ? this.#artifacts.get(artifact.artifactId) : undefined;
    if (known === undefined) {
      const parts: GrowingPart[] = [];
      grow(parts, artifact.parts);
      this.#artifacts.set(artifact.artifactId, { artifact, parts });
    } else grow(known.parts, artifact.parts);
  }

  /** What the status said is part of the history once something follows it. */
  #keepStatusMessage(): void {
    const { message } = this.#status;
    if (message !== undefined && message !== this.#kept) this.#history.push(message);
    this.#kept = message;
  }

  /** The task as it is now; a fresh object. */
  snapshot({ historyLength, artifacts = true }: SnapshotOptions = {}): Task {
    const history = historyLength === undefined ? [...this.#history] : newest(this.#history, historyLength);
    return {
      id: this.identity.taskId,
      contextId: this.identity.contextId,
      status: { ...this.#status },
      artifacts: artifacts ? [...this.#artifacts.values()].map(joined) : [],
      history,
      metadata: undefined,
    };
  }
}

function newest(history: readonly Message[], length: number): Message[] {
  return length === 0 ? [] : history.slice(-length);
}

function grow(parts: GrowingPart[], added: readonly Part[]): void {
  for (const part of added) {
    const last = parts.at(-1);
    if (part.content?.$case !== "text") parts.push({ part, pieces: [] });
    else if (last?.part.content?.$case === "text") last.pieces.push(part.content.value);
    else parts.push({ part, pieces: [part.content.value] });
  }
}

function joined({ artifact, parts }: GrowingArtifact): Artifact {
  return {
    ...artifact,
    parts: parts.map(({ part, pieces }) => {
      if (part.content?.$case !== "text") return part;
      const value = pieces.join("");
      pieces.splice(0, pieces.length, value);
      return { ...part, content: { $case: "text", value } };
    }),
  };
}
