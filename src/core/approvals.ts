import {
  type ApprovalDecision,
  type ApprovalHandler,
  type ApprovalRequest,
  type PermissionOptions,
  permissionMode,
} from "./approval.js";
import type { Clock } from "./clock.js";
import type { CreateId } from "./ids.js";
import { proposedAnswer } from "./proposed-answer.js";
import type { ApprovalResolver, RunEvent } from "./run-event.js";

/** How a run decides what its agent asks. */
export interface ApprovalOptions {
  readonly permissions: PermissionOptions;
  readonly handler?: ApprovalHandler;
  /** Whether somebody counts on being asked: the program has to be one that asks. */
  readonly required?: boolean;
  /** Milliseconds until a request is denied by itself. */
  readonly timeoutMs: number;
}

type Resolve = (decision: ApprovalDecision, by: ApprovalResolver) => void;

/** The open questions of one run. Each is answered exactly once, by whoever comes first. */
export class Approvals {
  readonly #open = new Map<string, Resolve>();
  #closed = false;

  constructor(
    private readonly options: ApprovalOptions,
    private readonly clock: Clock,
    private readonly createId: CreateId,
    private readonly emit: (event: RunEvent) => void,
  ) {}

  /** Asks and waits. Never rejects: what nobody answers is denied. */
  async ask(
    question: Omit<ApprovalRequest, "approvalId" | "expiresAt">,
    withdrawn: AbortSignal,
  ): Promise<ApprovalDecision> {
    if (this.#closed) return { decision: "deny", message: "The run is over." };
    const mode = permissionMode(this.options.permissions, question.kind);
    if (mode === "deny") return { decision: "deny", message: "Not permitted by the host's policy." };
    if (mode === "allow") return allowed(question);
    const approval: ApprovalRequest = {
      ...question,
      approvalId: this.createId("apr"),
      expiresAt: this.clock.now() + this.options.timeoutMs,
    };
    return new Promise((resolve) => {
      const handlerAbort = new AbortController();
      const settle: Resolve = (decision, by) => {
        if (!this.#open.delete(approval.approvalId)) return;
        timer.cancel();
        withdrawn.removeEventListener("abort", onWithdrawn);
        handlerAbort.abort();
        this.emit({
          type: "approval.resolved",
          approvalId: approval.approvalId,
          decision: decision.decision,
          by,
        });
        resolve(decision);
      };
      const onWithdrawn = () =>
        settle({ decision: "deny", message: "The agent withdrew the question." }, "program");
      const timer = this.clock.timer(this.options.timeoutMs, () =>
        settle({ decision: "deny", message: "Nobody answered in time." }, "timeout"),
      );
      this.#open.set(approval.approvalId, settle);
      this.emit({ type: "approval.requested", approval });
      if (withdrawn.aborted) return onWithdrawn();
      withdrawn.addEventListener("abort", onWithdrawn, { once: true });
      void this.#askHandler(approval, handlerAbort.signal, settle);
    });
  }

  /** @returns whether the question was still open. */
  decide(approvalId: string, decision: ApprovalDecision, by: ApprovalResolver = "person"): boolean {
    const settle = this.#open.get(approvalId);
    settle?.(decision, by);
    return settle !== undefined;
  }

  /** Denies everything that is open, and all that comes. */
  close(): void {
    this.#closed = true;
    for (const settle of [...this.#open.values()])
      settle({ decision: "deny", message: "The run is over." }, "run_end");
  }

  async #askHandler(approval: ApprovalRequest, signal: AbortSignal, settle: Resolve): Promise<void> {
    try {
      const decision = await this.options.handler?.(approval, signal);
      if (decision) settle(decision, "policy");
    } catch {
      settle({ decision: "deny", message: "The host's approval handler failed." }, "policy");
    }
  }
}

/** A yes, and for a question the answer that it proposes itself. */
function allowed({ kind, schema }: Pick<ApprovalRequest, "kind" | "schema">): ApprovalDecision {
  if (kind !== "question") return { decision: "approve" };
  const input = proposedAnswer(schema);
  return input === undefined
    ? { decision: "deny", message: "Nobody is here to answer. Decide by yourself." }
    : { decision: "approve", input };
}
