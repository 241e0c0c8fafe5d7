import {
  type Message,
  type TaskArtifactUpdateEvent,
  TaskState,
  type TaskStatusUpdateEvent,
} from "@a2a-js/sdk";
import type { ApprovalRequest } from "../../core/approval.js";
import type { RunEvent, Usage } from "../../core/run-event.js";
import { startOf, wellFormed } from "../../core/text.js";
import type { OpenCalls } from "../../wire/trace.js";
import type { FaceEntry } from "./face-host.js";
import type { ExposurePolicy } from "./options.js";
import { outcomeLine, publicError } from "./outcome.js";
import { agentMessage, artifactOf, dataPart, textPart } from "./parts.js";
import { questionMessage } from "./questions.js";
import { encodeTrace } from "./trace.js";
import { AGENT_ADAPTOR_RESULT, ASSISTANT_OUTPUT, type TaskIdentity } from "./vocabulary.js";

/** What an entry becomes: an event of a task's stream. */
export type TaskUpdate =
  | { readonly $case: "statusUpdate"; readonly value: TaskStatusUpdateEvent }
  | { readonly $case: "artifactUpdate"; readonly value: TaskArtifactUpdateEvent };

/** How a task is encoded. */
export interface EncoderOptions extends TaskIdentity {
  readonly exposure: ExposurePolicy;
  /** Whether the caller is asked what the agent asks. */
  readonly asks: boolean;
}

/** Characters of the agent's closing words within the result. */
const MAX_RESULT_TEXT = 32_000;

/**
 * Turns the entries of one run into updates of one task. What it remembers is small: which messages, calls and questions are open.
 * {@link fork} gives a second one that goes on from the same place.
 */
export class TaskEncoder {
  /** Messages in the order in which they began: the same for all readers of a task, so they share it. */
  readonly #messages: Map<string, number>;
  readonly #calls: OpenCalls;
  readonly #questions: Map<string, ApprovalRequest>;
  #usage: Usage | undefined;

  constructor(
    private readonly options: EncoderOptions,
    from?: TaskEncoder,
  ) {
    this.#messages = from === undefined ? new Map() : from.#messages;
    this.#calls = new Map(from === undefined ? [] : from.#calls);
    this.#questions = new Map(from === undefined ? [] : from.#questions);
    this.#usage = from === undefined ? undefined : from.#usage;
  }

  /** A second encoder that goes on from here. */
  fork(): TaskEncoder {
    return new TaskEncoder(this.options, this);
  }

  /** What the agent asks the caller now, oldest first. */
  get questions(): readonly ApprovalRequest[] {
    return [...this.#questions.values()];
  }

  /** The updates that an entry of the task's run becomes; for most kinds none or one. */
  encode({ event, time, cursor }: FaceEntry): TaskUpdate[] {
    switch (event.type) {
      case "run.started":
        return [this.#status(TaskState.TASK_STATE_WORKING, time)];
      case "text.start":
      case "text.delta":
      case "text.end":
        return event.parentToolCallId === undefined ? [this.#text(event)] : [];
      case "approval.requested":
        return this.#asked(event.approval, time);
      case "approval.resolved":
        return this.#answered(event.approvalId, time, cursor);
      case "stream.gap":
        return [];
      case "usage":
        this.#usage = event.usage;
        break;
      case "run.finished":
      case "run.failed":
      case "run.cancelled":
        return this.#end(event, time, cursor);
      default:
    }
    return encodeTrace(event, time, this.options.exposure, this.#calls).map(({ artifact, append, last }) =>
      this.#artifact(artifact, append, last),
    );
  }

  /** The run is gone, and nothing says how it ended. */
  lost(time: number, message: string): TaskUpdate[] {
    const error = { code: "internal", message, retryable: true };
    return this.#end({ type: "run.failed", error }, time, "lost", message);
  }

  /** No run was started. @param message why, for the caller's eyes */
  rejected(time: number, message: string): TaskUpdate[] {
    const words = agentMessage(`${this.options.taskId}-rejected`, this.options, [textPart(message)]);
    return [this.#status(TaskState.TASK_STATE_REJECTED, time, words)];
  }

  /** The first piece of an artifact replaces, all others append: clients exist that refuse to append to what they do not know. */
  #text(event: Extract<RunEvent, { type: `text.${string}` }>): TaskUpdate {
    let number = this.#messages.get(event.messageId);
    if (number === undefined) {
      number = this.#messages.size + 1;
      this.#messages.set(event.messageId, number);
    }
    const id = number === 1 ? ASSISTANT_OUTPUT : `${ASSISTANT_OUTPUT}-${number}`;
    const part = textPart(event.type === "text.delta" ? event.delta : "");
    return this.#artifact(
      artifactOf(id, ASSISTANT_OUTPUT, [part]),
      event.type !== "text.start",
      event.type === "text.end",
    );
  }

  #asked(approval: ApprovalRequest, time: number): TaskUpdate[] {
    if (!this.options.asks) return [];
    this.#questions.set(approval.approvalId, approval);
    return [this.#status(TaskState.TASK_STATE_INPUT_REQUIRED, time, questionMessage(approval, this.options))];
  }

  #answered(approvalId: string, time: number, cursor: string): TaskUpdate[] {
    if (!this.#questions.delete(approvalId)) return [];
    const [next] = this.questions;
    if (next === undefined) return [this.#status(TaskState.TASK_STATE_WORKING, time)];
    const message = questionMessage(next, this.options, cursor);
    return [this.#status(TaskState.TASK_STATE_INPUT_REQUIRED, time, message)];
  }

  #end(
    event: Extract<RunEvent, { type: "run.finished" | "run.failed" | "run.cancelled" }>,
    time: number,
    cursor: string,
    words?: string,
  ): TaskUpdate[] {
    this.#questions.clear();
    const usage = this.options.exposure.usage ? ("usage" in event ? event.usage : this.#usage) : undefined;
    const told = usage === undefined ? {} : { usage };
    const { state, line, result } = this.#outcome(event, words);
    const message = agentMessage(`${this.options.taskId}-${cursor}`, this.options, [textPart(line)]);
    return [
      this.#artifact(
        artifactOf(AGENT_ADAPTOR_RESULT, AGENT_ADAPTOR_RESULT, [dataPart({ ...result, ...told })]),
        false,
        true,
      ),
      this.#status(state, time, message),
    ];
  }

  #outcome(
    event: Extract<RunEvent, { type: "run.finished" | "run.failed" | "run.cancelled" }>,
    words: string | undefined,
  ): { state: TaskState; line: string; result: Readonly<Record<string, unknown>> } {
    if (event.type === "run.finished") {
      const text = wellFormed(startOf(event.text, MAX_RESULT_TEXT));
      return {
        state: TaskState.TASK_STATE_COMPLETED,
        line: outcomeLine(text, "Done."),
        result: { status: "completed", summary: text },
      };
    }
    if (event.type === "run.cancelled") {
      const reason = outcomeLine(event.reason, "no reason given");
      return {
        state: TaskState.TASK_STATE_CANCELED,
        line: `Cancelled: ${reason}`,
        result: { status: "canceled", reason },
      };
    }
    const error = words === undefined ? publicError(event.error) : event.error;
    return {
      state: TaskState.TASK_STATE_FAILED,
      line: error.message,
      result: { status: "failed", error },
    };
  }

  #status(state: TaskState, time: number, message?: Message): TaskUpdate {
    const { taskId, contextId } = this.options;
    const status = { state, message, timestamp: new Date(time).toISOString() };
    return { $case: "statusUpdate", value: { taskId, contextId, status, metadata: undefined } };
  }

  #artifact(artifact: TaskArtifactUpdateEvent["artifact"], append: boolean, lastChunk: boolean): TaskUpdate {
    const { taskId, contextId } = this.options;
    return {
      $case: "artifactUpdate",
      value: { taskId, contextId, artifact, append, lastChunk, metadata: undefined },
    };
  }
}
