import type { ApprovalDecision, ApprovalRequest } from "../../core/approval.js";
import { defined } from "../../core/defined.js";
import type { ErrorInfo, RunEvent } from "../../core/run-event.js";
import { startOf } from "../../core/text.js";
import type { DelegationErrorCode, SubagentEvent } from "../../delegation/events.js";
import type { RemoteInput, RemoteSignal } from "../../delegation/remote.js";

/** Characters of a tool's arguments in a question. */
const MAX_QUOTED = 2_000;

/** Why a run failed, in a delegation's words; everything else is the agent's own failure. */
const CODES: Readonly<Record<string, DelegationErrorCode>> = {
  program_missing: "agent_unavailable",
  program_too_old: "agent_unavailable",
  not_authenticated: "agent_unavailable",
  capability_unsupported: "capability_unsupported",
  thread_busy: "agent_busy",
  host_stopped: "host_stopped",
};

/** The answer to a permission or a plan. */
const APPROVAL = {
  type: "object",
  properties: {
    approved: { type: "boolean", title: "Approve" },
    message: { type: "string", title: "Why, or what instead" },
  },
  required: ["approved"],
};

/** Turns the events of a run into signals. What it asks a person becomes a question of the delegation, one at a time. */
export class RunSignals {
  readonly #asked: ApprovalRequest[] = [];

  /** How the run ended; `undefined` while it goes on. */
  end: "completed" | "failed" | "cancelled" | undefined;

  constructor(
    private readonly runId: string,
    private readonly threadId: string,
  ) {}

  /** What waits for an answer now. */
  get question(): ApprovalRequest | undefined {
    return this.#asked[0];
  }

  map(event: RunEvent | SubagentEvent): RemoteSignal[] {
    switch (event.type) {
      case "run.started":
        return [{ type: "accepted", taskId: this.runId, contextId: this.threadId }];
      case "text.delta":
        // The words of the program's own subagents are not its answer.
        if (event.parentToolCallId !== undefined) return [];
        return [{ type: "text", messageId: event.messageId, delta: event.delta }];
      case "reasoning.delta":
        if (event.parentToolCallId !== undefined) return [];
        return [{ type: "reasoning", messageId: event.messageId, delta: event.delta }];
      case "tool.start":
        return [{ type: "tool.start", toolCallId: event.toolCallId, name: event.tool ?? event.name }];
      case "tool.args":
      case "tool.end":
        return [event];
      case "tool.result": {
        const { toolCallId, content, isError } = event;
        return [{ type: "tool.result", toolCallId, content, isError }];
      }
      case "plan.updated": {
        const step = event.steps.find(({ status }) => status === "in_progress");
        return step === undefined ? [] : [working(step.text)];
      }
      case "notice":
        return event.level === "warning" ? [working(event.message)] : [];
      case "approval.requested":
        this.#asked.push(event.approval);
        return this.#asked.length === 1 ? [questionOf(event.approval)] : [];
      case "approval.resolved":
        return this.#resolved(event.approvalId);
      case "subagent.status":
        return event.message === undefined ? [] : [working(`${event.agentName}: ${event.message}`)];
      case "run.finished":
        this.end = "completed";
        return [{ type: "completed", ...(event.text === "" ? {} : { message: event.text }) }];
      case "run.failed":
        this.end = "failed";
        return [failureOf(event.error)];
      case "run.cancelled":
        this.end = "cancelled";
        return [{ type: "cancelled", message: `Cancelled: ${event.reason}` }];
      default:
        return [];
    }
  }

  /** Also when a person decided at the host, or nobody in time. */
  #resolved(approvalId: string): RemoteSignal[] {
    const at = this.#asked.findIndex((approval) => approval.approvalId === approvalId);
    if (at < 0) return [];
    this.#asked.splice(at, 1);
    if (at > 0) return [];
    const [next] = this.#asked;
    return next === undefined ? [{ type: "status", status: "working" }] : [questionOf(next)];
  }
}

/** The decision that an answer makes. Words approve only when they say so. */
export function decisionOf({ kind }: ApprovalRequest, { text, data }: RemoteInput): ApprovalDecision {
  const words = text?.trim() ?? "";
  if (kind === "question") return { decision: "approve", input: data ?? words };
  const said = typeof data === "object" && data !== null ? (data as Readonly<Record<string, unknown>>) : {};
  const approved =
    data === undefined ? /^(?:y|yes|ok|okay|approved?|allow)\b/i.test(words) : said.approved === true;
  if (approved) return { decision: "approve", ...defined({ input: said.input }) };
  const message = typeof said.message === "string" ? said.message : words;
  return { decision: "deny", ...(message === "" ? {} : { message }) };
}

function questionOf({ kind, title, input, schema }: ApprovalRequest): RemoteSignal {
  const detail =
    kind === "question" || input === undefined ? "" : `\n${startOf(JSON.stringify(input) ?? "", MAX_QUOTED)}`;
  const wanted = kind === "question" ? schema : APPROVAL;
  return {
    type: "input_required",
    prompt: title + detail,
    ...(wanted === undefined ? {} : { schema: wanted }),
  };
}

function failureOf({ code, message, retryable }: ErrorInfo): RemoteSignal {
  const known = CODES[code] ?? "remote_failed";
  return { type: "failed", code: known, message, retryable, remoteStatus: code };
}

function working(message: string): RemoteSignal {
  return { type: "status", status: "working", message };
}
