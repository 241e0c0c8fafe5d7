import {
  type Artifact,
  type Message,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
  type TaskStatus,
} from "@a2a-js/sdk";
import { defined } from "../../core/defined.js";
import type { RemoteSignal, RemoteTaskReference } from "../../delegation/remote.js";
import { capText, MAX_CLOSING_TEXT, MAX_STATUS_TEXT, safeId } from "../http/words.js";
import { ArtifactAssembler } from "./artifacts.js";
import type { Delivery } from "./channel.js";
import { questionOf } from "./question.js";
import { ToolTraffic } from "./tool-traffic.js";
import { isFinal, spokenText, stateWord } from "./words.js";

/** Options of {@link StreamMapper}. */
export interface StreamMapperOptions {
  /** Removes credentials from what the remote says about itself. Default: nothing. */
  readonly redact?: (text: string) => string;
  /**
   * `false` for an agent that is polled: what it says is given whole with its end, because pieces of it would look like a stream.
   */
  readonly streaming?: boolean;
  /** The remote's names of a task that is known already. */
  readonly reference?: RemoteTaskReference;
}

/** What gemini-cli says of a task that it parked when its client was gone; it asks nobody anything. */
const PARKED = /^Execution aborted by client\b/i;

/** What a status comes with. */
interface StatusContext {
  readonly final?: boolean | undefined;
  /** What gemini-cli calls the update. */
  readonly kind?: string | undefined;
  /** The whole answer so far is in `status.message`. */
  readonly bare?: boolean | undefined;
}

/** Turns one task's stream into signals. It does no I/O; feed it the responses in order and stop when {@link over}. */
export class StreamMapper {
  readonly #redact: (text: string) => string;
  readonly #streaming: boolean;
  readonly #tools: ToolTraffic;
  readonly #artifacts: ArtifactAssembler;
  #taskId: string | undefined;
  #contextId: string | undefined;
  #accepted = false;
  #over = false;
  #state: TaskState | undefined;
  /** What the remote said in statuses, by its own conventions; one message until a tool runs. */
  #told = "";
  #tellings = 1;
  /** The question that is open, or was answered last. */
  #asked: string | undefined;
  #waits = false;
  /** What each text of a polled agent was when it asked something, which may be the last that is heard of it. */
  #given: string[] = [];
  #gifts = 0;
  /** Identifies the last status, for snapshots that show it again. */
  #lastStatus = "";

  constructor(options: StreamMapperOptions = {}) {
    this.#redact = options.redact ?? ((text) => text);
    this.#streaming = options.streaming ?? true;
    this.#tools = new ToolTraffic(this.#redact);
    this.#artifacts = new ArtifactAssembler(this.#tools);
    this.#taskId = options.reference?.taskId;
    this.#contextId = options.reference?.contextId;
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
    return this.#waits;
  }

  /** The remote waits for an authorisation, and may go on by itself. */
  get waitsForSignIn(): boolean {
    return this.#state === TaskState.TASK_STATE_AUTH_REQUIRED;
  }

  /** The protocol's word for the last state. */
  get status(): string {
    return stateWord(this.#state);
  }

  /** The remote's names of the task; `undefined` until it gave them, and for an answer without a task. */
  get reference(): RemoteTaskReference | undefined {
    if (this.#taskId === undefined) return undefined;
    return {
      taskId: this.#taskId,
      ...defined({ contextId: this.#contextId }),
    };
  }

  /** The remote took an answer. */
  answered(): void {
    this.#waits = false;
    this.#tools.settled();
  }

  /** The signals of one response. What is not understood gives none. */
  map(response: StreamResponse, { final, bare }: Pick<Delivery, "final" | "bare"> = {}): RemoteSignal[] {
    if (this.#over) return [];
    const { payload } = response;
    switch (payload?.$case) {
      case "task":
        return this.#task(payload.value, bare);
      case "message":
        return this.#message(payload.value);
      case "statusUpdate": {
        const { taskId, contextId, status, metadata } = payload.value;
        const kind = coderKind(metadata);
        return [...this.#accept(taskId, contextId), ...this.#status(status, { final, kind })];
      }
      case "artifactUpdate": {
        const { taskId, contextId, artifact, append, lastChunk } = payload.value;
        const accepted = this.#accept(taskId, contextId);
        return artifact
          ? [...accepted, ...this.#shown(this.#artifacts.update(this.#named(artifact), append, lastChunk))]
          : accepted;
      }
      default:
        return [];
    }
  }

  /** A task that was looked at: like {@link map}, but a status that was seen already is no news. */
  snapshot(task: Task, { bare }: Pick<Delivery, "bare"> = {}): RemoteSignal[] {
    if (this.#over) return [];
    const { status } = task;
    const seen = status !== undefined && !isFinal(status.state) && statusKey(status) === this.#lastStatus;
    if (!seen) return this.#task(task, bare);
    return [...this.#accept(task.id, task.contextId), ...this.#artifactsOf(task, false)];
  }

  /** What `task` holds beyond what was seen; its status is left out. */
  artifactsOf(task: Task): RemoteSignal[] {
    return this.#over ? [] : this.#artifactsOf(task, isFinal(task.status?.state));
  }

  /** What was said before `response`, which begins a subscription without a snapshot, according to `task`. */
  gap(task: Task, response: StreamResponse): RemoteSignal[] {
    const { payload } = response;
    if (this.#over) return [];
    const update = payload?.$case === "artifactUpdate" ? payload.value : undefined;
    // A replacement needs nothing of what came before it.
    const next = update?.append && update.artifact ? this.#named(update.artifact) : undefined;
    const missed = task.artifacts.flatMap((stored) => this.#artifacts.gap(this.#named(stored), next));
    // Who begins a subscription so has been seen to store every chunk once more for it.
    this.#artifacts.distrust();
    return this.#shown(missed);
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
        ...defined({ taskId: this.#taskId, contextId: this.#contextId }),
      },
    ];
  }

  /** The history is left out: it repeats what was sent, and what the stream said. */
  #task(task: Task, bare: boolean | undefined): RemoteSignal[] {
    return [
      ...this.#accept(task.id, task.contextId),
      ...this.#artifactsOf(task, isFinal(task.status?.state)),
      ...this.#status(task.status, { bare, kind: coderKind(task.metadata) }),
    ];
  }

  #artifactsOf(task: Task, last: boolean): RemoteSignal[] {
    return this.#shown(
      task.artifacts.flatMap((artifact) => this.#artifacts.snapshot(this.#named(artifact), last)),
    );
  }

  /** Redacted before names are made fit for a path: a part of a credential is not recognised. */
  #named(artifact: Artifact): Artifact {
    const artifactId = this.#redact(artifact.artifactId);
    const parts = artifact.parts.map((part) => {
      const filename = this.#redact(part.filename);
      return filename === part.filename ? part : { ...part, filename };
    });
    return { ...artifact, artifactId, name: this.#redact(artifact.name), parts };
  }

  /** Text of an agent that is polled comes whole with its end. */
  #shown(signals: RemoteSignal[]): RemoteSignal[] {
    return this.#streaming ? signals : signals.filter(({ type }) => type !== "text");
  }

  #status(status: TaskStatus | undefined, context: StatusContext): RemoteSignal[] {
    if (status === undefined) return [];
    const { state } = status;
    const repeated = state === this.#state;
    this.#state = state;
    this.#lastStatus = statusKey(status);
    const told = this.#telling(status, context);
    if (isFinal(state)) return [...(told ?? []), ...this.#end(status, told !== undefined)];
    if (state === TaskState.TASK_STATE_INPUT_REQUIRED) {
      return [...(told ?? []), ...this.#ask(status, context, told !== undefined)];
    }
    this.#waits = false;
    this.#asked = undefined;
    if (state === TaskState.TASK_STATE_AUTH_REQUIRED) {
      return [{ type: "auth_required", ...this.#text(status.message, MAX_CLOSING_TEXT, "prompt") }];
    }
    const message = told === undefined ? this.#text(status.message, MAX_STATUS_TEXT, "message") : {};
    // A state that is only repeated is no news.
    const line: RemoteSignal[] =
      repeated && !("message" in message) ? [] : [{ type: "status", status: stateWord(state), ...message }];
    return [...line, ...(told ?? [])];
  }

  /** What a status holds by the conventions of its author; `undefined` when its message is a plain status line. */
  #telling({ message }: TaskStatus, { kind, bare }: StatusContext): RemoteSignal[] | undefined {
    const data = () =>
      (message?.parts ?? []).flatMap((part) => (part.content?.$case === "data" ? [part.content.value] : []));
    switch (kind) {
      case "text-content":
        return this.#tellMore(spokenText(message, Number.POSITIVE_INFINITY) ?? "");
      case "thought":
        return data().flatMap((value) => thoughtOf(value, `thought-${this.#tellings}`));
      case "tool-call-update":
      case "tool-call-confirmation": {
        const signals = data().flatMap((value) => this.#tools.coder(value));
        if (signals.some(({ type }) => type === "tool.start") && this.#told !== "") {
          this.#told = "";
          this.#tellings++;
        }
        return signals;
      }
    }
    if (!bare || message === undefined || this.#state === TaskState.TASK_STATE_FAILED) return undefined;
    if (this.#state !== TaskState.TASK_STATE_WORKING && this.#state !== TaskState.TASK_STATE_COMPLETED)
      return undefined;
    return this.#tell(spokenText(message, Number.POSITIVE_INFINITY) ?? "");
  }

  #tell(whole: string): RemoteSignal[] {
    if (this.#told.startsWith(whole)) return [];
    let delta = whole.slice(this.#told.length);
    if (!whole.startsWith(this.#told)) {
      this.#tellings++;
      delta = whole;
    }
    this.#told = whole;
    return this.#toldSignals(delta);
  }

  /** A piece, without a look at all that came before it. */
  #tellMore(delta: string): RemoteSignal[] {
    if (delta === "") return [];
    this.#told += delta;
    return this.#toldSignals(delta);
  }

  #toldSignals(delta: string): RemoteSignal[] {
    const messageId = this.#tellings === 1 ? "message" : `message-${this.#tellings}`;
    return this.#shown([{ type: "text", messageId, delta }]);
  }

  #end(status: TaskStatus, told: boolean): RemoteSignal[] {
    this.#over = true;
    this.#waits = false;
    const message = told ? {} : this.#text(status.message, MAX_CLOSING_TEXT, "message");
    switch (status.state) {
      case TaskState.TASK_STATE_COMPLETED:
        return this.#completed("message" in message ? message.message : undefined);
      case TaskState.TASK_STATE_REJECTED:
        return [...this.#partial(), { type: "rejected", ...message }];
      case TaskState.TASK_STATE_CANCELED:
        return [...this.#partial(), { type: "cancelled", ...message }];
      default:
        return [...this.#partial(), { type: "failed", ...message, remoteStatus: stateWord(status.state) }];
    }
  }

  /** @param words the remote's closing words */
  #completed(words: string | undefined): RemoteSignal[] {
    if (this.#given.length > 0) return [...closing(words), ...this.#partial(), { type: "completed" }];
    const whole = this.#streaming ? [] : this.#texts();
    if (whole.length === 0) return [{ type: "completed", ...defined({ message: words }) }];
    return [...closing(words), { type: "completed", message: whole.join("\n\n") }];
  }

  /** What a polled agent said before it asked, or ended otherwise; it has no closing words to put it in. */
  #partial(): RemoteSignal[] {
    if (this.#streaming) return [];
    return this.#texts().flatMap((text, index): RemoteSignal[] => {
      const given = this.#given[index] ?? "";
      const delta = text.startsWith(given) ? text.slice(given.length) : text;
      this.#given[index] = text;
      return delta === "" ? [] : [{ type: "text", messageId: `text-${++this.#gifts}`, delta }];
    });
  }

  #texts(): string[] {
    return [...this.#artifacts.texts, ...(this.#told.trim() === "" ? [] : [this.#told])];
  }

  #ask(status: TaskStatus, { final, kind }: StatusContext, told: boolean): RemoteSignal[] {
    // In the middle of a stream it may only mean that a tool is being talked about.
    if (final === false && kind !== "tool-call-confirmation" && (told || status.message === undefined))
      return [];
    const question = questionOf(
      status.message?.role === Role.ROLE_USER || told ? undefined : status.message,
      this.#tools.pending,
    );
    const key = `${statusKey(status)} ${this.#tools.pending?.callId ?? ""}`;
    // No news; or what was answered, shown again until the remote has taken it in. Some looks leave the question out.
    if (key === this.#asked) return [];
    if (question === undefined && this.#asked !== undefined && final !== true) return [];
    this.#asked = key;
    // An agent that asks nothing after it has said something only keeps its conversation open.
    if (question === undefined && this.#texts().length > 0) {
      this.#over = true;
      return this.#completed(undefined);
    }
    const { prompt, schema } = question ?? {};
    if (prompt !== undefined && PARKED.test(prompt)) {
      this.#over = true;
      return [
        ...this.#partial(),
        {
          type: "failed",
          code: "stream_interrupted",
          retryable: true,
          message: this.#redact(`The agent stopped the task because its connection was lost: ${prompt}`),
          remoteStatus: stateWord(status.state),
        },
      ];
    }
    this.#waits = true;
    return [
      ...this.#partial(),
      {
        type: "input_required",
        ...(prompt === undefined ? {} : { prompt: this.#redact(prompt) }),
        ...defined({ schema }),
      },
    ];
  }

  #text<Name extends "message" | "prompt">(
    message: Message | undefined,
    limit: number,
    name: Name,
  ): { [key in Name]?: string } {
    // Redacted before it is cut: half a credential is not recognised.
    const spoken = spokenText(message, Number.POSITIVE_INFINITY);
    if (spoken === undefined) return {};
    return { [name]: capText(this.#redact(spoken), limit) } as { [key in Name]: string };
  }

  /** A message without a task is the whole answer; within a task it is a remark. The user's own come back as echoes. */
  #message(message: Message): RemoteSignal[] {
    if (this.#taskId !== undefined) {
      const remark = this.#text(message, MAX_STATUS_TEXT, "message");
      return "message" in remark ? [{ type: "status", status: stateWord(this.#state), ...remark }] : [];
    }
    if (message.role === Role.ROLE_USER) return [];
    this.#over = true;
    const id = safeId(this.#redact(message.messageId) || "message");
    const text = spokenText(message, Number.POSITIVE_INFINITY);
    const attachments = message.parts.filter((part) => part.content?.$case !== "text");
    const files = this.#artifacts.update(
      {
        artifactId: id,
        name: "",
        description: "",
        parts: attachments.map((part) => ({ ...part, filename: this.#redact(part.filename) })),
        metadata: undefined,
        extensions: [],
      },
      false,
      true,
    );
    // No task id: such an answer can neither be looked up nor cancelled.
    const accepted = this.#accept("", message.contextId);
    if (!this.#streaming)
      return [...accepted, ...files, { type: "completed", ...defined({ message: text }) }];
    return [
      ...accepted,
      ...(text === undefined ? [] : [{ type: "text" as const, messageId: id, delta: text }]),
      ...files,
      { type: "completed" },
    ];
  }
}

/** A remote's closing words beside an answer of its own. */
function closing(words: string | undefined): RemoteSignal[] {
  return words === undefined ? [] : [{ type: "status", status: "completed", message: words }];
}

function statusKey({ state, message, timestamp }: TaskStatus): string {
  const words = spokenText(message, Number.POSITIVE_INFINITY) ?? "";
  return `${state} ${message?.messageId ?? ""} ${timestamp ?? ""} ${words.length} ${words.slice(0, 200)}`;
}

/** How gemini-cli marks its updates. */
function coderKind(metadata: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const coder = metadata?.coderAgent;
  const kind: unknown = typeof coder === "object" && coder !== null ? Object(coder).kind : undefined;
  return typeof kind === "string" ? kind : undefined;
}

function thoughtOf(data: unknown, messageId: string): RemoteSignal[] {
  const { subject, description } = Object(data) as { subject?: unknown; description?: unknown };
  const words = [subject, description].filter((part) => typeof part === "string" && part !== "");
  return words.length === 0 ? [] : [{ type: "reasoning", messageId, delta: `${words.join(": ")}\n` }];
}
