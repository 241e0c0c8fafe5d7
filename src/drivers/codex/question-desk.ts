import { isDeepStrictEqual } from "node:util";
import type { ApprovalDecision } from "../../core/approval.js";
import type { DriverSink } from "../../core/driver.js";
import type { DriverEvent } from "../../core/run-event.js";
import type { JsonObject } from "../process/json.js";
import { METHOD_NOT_FOUND, type RpcId } from "../process/rpc-channel.js";
import { type KnownCalls, type Question, readQuestion } from "./question.js";

/** Options of a {@link QuestionDesk}. */
export interface QuestionDeskOptions {
  readonly calls: KnownCalls;
  readonly approve: DriverSink["approve"];
  emit(event: DriverEvent): void;
  respond(id: RpcId, result: JsonObject): void;
  refuse(id: RpcId, code: number, message: string): void;
}

/** Takes the program's requests to a person and answers each exactly once. */
export class QuestionDesk {
  readonly #options: QuestionDeskOptions;
  readonly #open = new Map<RpcId, AbortController>();
  /** Calls that wait, or waited, for a permission that was not given. */
  readonly #notAllowed = new Set<string>();
  #closed = false;

  constructor(options: QuestionDeskOptions) {
    this.#options = options;
  }

  /** Whether this call never ran, because its permission was not given. */
  isHeld(toolCallId: string): boolean {
    return this.#notAllowed.has(toolCallId);
  }

  request(id: RpcId, method: string, params: JsonObject): void {
    if (this.#open.has(id)) return;
    const question = readQuestion(method, params, this.#options.calls);
    if (!question) {
      // Silence would make the program wait for ever.
      this.#options.refuse(id, METHOD_NOT_FOUND, `Unsupported request: ${method}`);
      return;
    }
    const controller = new AbortController();
    this.#open.set(id, controller);
    const { kind, toolCallId } = question.ask;
    if (kind === "permission" && toolCallId !== undefined) this.#notAllowed.add(toolCallId);
    void this.#decide(question, controller.signal).then((decision) => {
      if (!this.#open.delete(id) || this.#closed) return;
      if (decision.decision === "approve" && toolCallId !== undefined) this.#notAllowed.delete(toolCallId);
      this.#respond(id, question, decision);
    });
  }

  /** The program needs no answer any more, or has got it. */
  resolved(id: unknown): void {
    if (typeof id !== "string" && typeof id !== "number") return;
    const controller = this.#open.get(id);
    this.#open.delete(id);
    controller?.abort("withdrawn");
  }

  /** The program is gone: every open question is withdrawn. */
  close(): void {
    this.#closed = true;
    for (const id of [...this.#open.keys()]) this.resolved(id);
  }

  /** Whoever decides may fail; the program then gets a no instead of silence. */
  async #decide({ ask }: Question, withdrawn: AbortSignal): Promise<ApprovalDecision> {
    try {
      const decision = await this.#options.approve(ask, withdrawn);
      if (ask.kind === "question" || decision.decision === "deny" || isUnchanged(decision.input, ask.input))
        return decision;
      // Doing the original instead would do what nobody has agreed to.
      const message = "Codex runs a call only as it asked for it; this one was changed, so it was declined.";
      this.#options.emit({ type: "notice", level: "warning", code: "approval_declined", message });
      return { decision: "deny", message };
    } catch {
      return { decision: "deny", message: "The question could not be asked." };
    }
  }

  #respond(id: RpcId, question: Question, decision: ApprovalDecision): void {
    try {
      this.#options.respond(id, question.answer(decision));
    } catch {
      // Code that decides may hand over what JSON cannot hold.
      this.#options.respond(id, question.answer({ decision: "deny" }));
    }
  }
}

function isUnchanged(input: unknown, asked: unknown): boolean {
  if (input === undefined || input === null) return true;
  if (typeof input === "object" && Object.keys(input).length === 0) return true;
  return isDeepStrictEqual(input, asked);
}
