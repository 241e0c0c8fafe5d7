import type { ApprovalDecision, ApprovalRequest } from "../core/approval.js";
import type { ApprovalResolver, PlanStep } from "../core/run-event.js";
import { ContentFold } from "./content-fold.js";
import { listOf, type Members, membersOf, nameOf, numberOf, textOf } from "./members.js";
import { errorOf, SubagentFold } from "./subagent-fold.js";
import type { ApprovalView, NoticeView, RunView } from "./view.js";
import type { ViewTree, Writable } from "./view-tree.js";

/** Folds the events of one run. */
export class RunFold {
  readonly view: Writable<RunView>;
  readonly #tree: ViewTree;
  readonly #content: ContentFold;
  readonly #subagents = new Map<string, SubagentFold>();
  readonly #approvals = new Map<string, Writable<ApprovalView>>();

  constructor(tree: ViewTree, runId: string, time: number) {
    this.view = {
      version: 0,
      runId,
      status: "running",
      userMessages: [],
      items: [],
      subagents: [],
      approvals: [],
      plan: [],
      notices: [],
      startedAt: time,
    };
    this.#tree = tree;
    this.#content = new ContentFold(tree, this.view);
  }

  start(event: Members): void {
    for (const entry of listOf(membersOf(event.input), "messages")) {
      const message = membersOf(entry);
      const id = textOf(message, "id") ?? "";
      if (message.role !== "user" || this.view.userMessages.some((known) => known.id === id)) continue;
      this.view.userMessages.push({ id, text: contentText(message.content) });
    }
    this.#tree.touch(this.view);
  }

  /** Words and tool calls of the run itself. */
  content(event: Members, time: number): void {
    const content = this.#content;
    const metadata = membersOf(event.metadata);
    const parentToolCallId = nameOf(metadata, "parentToolCallId");
    const messageId = textOf(event, "messageId") ?? "";
    const toolCallId = textOf(event, "toolCallId") ?? "";
    const delta = textOf(event, "delta") ?? "";
    switch (event.type) {
      case "TEXT_MESSAGE_START":
        content.textStart("text", messageId, parentToolCallId);
        break;
      case "TEXT_MESSAGE_CONTENT":
        content.textDelta("text", messageId, delta, parentToolCallId);
        break;
      case "TEXT_MESSAGE_END":
        content.textEnd("text", messageId);
        break;
      case "REASONING_MESSAGE_START":
        content.textStart("reasoning", messageId, parentToolCallId);
        break;
      case "REASONING_MESSAGE_CONTENT":
        content.textDelta("reasoning", messageId, delta, parentToolCallId);
        break;
      case "REASONING_MESSAGE_END":
        content.textEnd("reasoning", messageId);
        break;
      case "TOOL_CALL_START":
        this.#toolStart(toolCallId, event, metadata, time);
        break;
      case "TOOL_CALL_ARGS":
        content.toolArguments(toolCallId, delta, time);
        break;
      case "TOOL_CALL_END":
        content.toolEnd(toolCallId);
        break;
      case "TOOL_CALL_RESULT": {
        const how = { isError: metadata.isError === true, synthetic: metadata.synthetic === true };
        content.toolResult(toolCallId, contentText(event.content), how, time);
        break;
      }
    }
  }

  /** @param change the event's name without `subagent.`. */
  subagent(change: string, value: Members, time: number): void {
    const delegationId = nameOf(value, "delegationId");
    if (delegationId === undefined) return;
    let fold = this.#subagents.get(delegationId);
    if (!fold) {
      fold = new SubagentFold(this.#tree, delegationId, this.view.runId, time);
      this.#subagents.set(delegationId, fold);
      this.view.subagents.push(fold.view);
      this.#tree.place(fold.view, this.view);
    }
    fold.apply(change, value, time);
    this.#claim(fold, nameOf(value, "parentToolCallId"));
  }

  custom(name: string, value: Members, time: number): void {
    if (name === "approval.requested") this.#approvalRequested(value, time);
    else if (name === "approval.resolved") this.#approvalResolved(value);
    else if (name === "plan.updated") this.view.plan = listOf(value, "steps").map(planStepOf);
    else if (name === "notice") this.view.notices.push(noticeOf(value, time));
    else return;
    this.#tree.touch(this.view);
  }

  end(event: Members, time: number): void {
    if (this.view.status !== "running") return;
    const result = membersOf(event.result);
    if (event.type === "RUN_ERROR") {
      this.view.status = "failed";
      this.view.error = errorOf(event);
    } else if (result.status === "cancelled") {
      this.view.status = "cancelled";
      this.view.reason = textOf(result, "reason") ?? "";
    } else {
      this.view.status = "finished";
    }
    this.#close(time);
  }

  /** Another run began, and this one's end was never recorded: its host died. */
  lost(time: number): void {
    if (this.view.status !== "running") return;
    this.view.status = "failed";
    this.view.error = { code: "lost", message: "How this run ended was not recorded.", retryable: false };
    this.#close(time);
  }

  #close(time: number): void {
    this.view.endedAt = time;
    this.#content.close(time);
    for (const fold of this.#subagents.values()) fold.runEnded(time);
    for (const approval of this.#approvals.values()) this.#decide(approval, "deny", "run_end");
    this.#tree.touch(this.view);
  }

  #toolStart(toolCallId: string, event: Members, metadata: Members, time: number): void {
    const rawName = nameOf(metadata, "rawName");
    const parentToolCallId = nameOf(metadata, "parentToolCallId");
    const names = {
      name: nameOf(event, "toolCallName") ?? rawName ?? "tool",
      ...(rawName !== undefined && { rawName }),
      ...(parentToolCallId !== undefined && { parentToolCallId }),
    };
    this.#content.toolStart(toolCallId, names, time);
    // A delegation may have named this call before the call itself was seen.
    for (const { delegationId, parentToolCallId: wanted } of [...this.view.subagents]) {
      const fold = wanted === toolCallId ? this.#subagents.get(delegationId) : undefined;
      if (fold) this.#claim(fold, toolCallId);
    }
  }

  /** Puts a delegation under its tool call, once both are known. */
  #claim(fold: SubagentFold, toolCallId: string | undefined): void {
    const { view } = fold;
    if (toolCallId === undefined) return;
    view.parentToolCallId = toolCallId;
    const index = this.view.subagents.indexOf(view);
    const tool = index < 0 ? undefined : this.#content.tool(toolCallId);
    if (!tool) return;
    this.view.subagents.splice(index, 1);
    this.#tree.touch(this.view);
    tool.subagents.push(view);
    this.#tree.place(view, tool);
    this.#tree.touch(tool);
  }

  #approvalRequested(value: Members, time: number): void {
    const request = approvalOf(value, time);
    if (!request || this.#approvals.has(request.approvalId)) return;
    const approval: Writable<ApprovalView> = { version: 0, request };
    this.#approvals.set(request.approvalId, approval);
    this.view.approvals.push(approval);
    const tool = request.toolCallId === undefined ? undefined : this.#content.tool(request.toolCallId);
    tool?.approvals.push(approval);
    this.#tree.place(approval, tool ?? this.view);
    this.#tree.touch(approval);
  }

  #approvalResolved(value: Members): void {
    const approval = this.#approvals.get(textOf(value, "approvalId") ?? "");
    const by = nameOf(value, "by") as ApprovalResolver | undefined;
    if (approval) this.#decide(approval, value.decision === "approve" ? "approve" : "deny", by ?? "person");
  }

  #decide(
    approval: Writable<ApprovalView>,
    decision: ApprovalDecision["decision"],
    by: ApprovalResolver,
  ): void {
    if (approval.decision !== undefined) return;
    approval.decision = decision;
    approval.by = by;
    this.#tree.touch(approval);
  }
}

/** AG-UI content is text, or a list of parts of which the text ones are kept. */
function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => textOf(membersOf(part), "text") ?? "").join("");
}

function approvalOf(value: Members, time: number): Writable<ApprovalRequest> | undefined {
  const approvalId = nameOf(value, "approvalId");
  if (approvalId === undefined) return undefined;
  const toolCallId = nameOf(value, "toolCallId");
  const tool = nameOf(value, "tool");
  return {
    approvalId,
    kind: value.kind === "plan" || value.kind === "question" ? value.kind : "permission",
    ...(toolCallId !== undefined && { toolCallId }),
    ...(tool !== undefined && { tool }),
    title: textOf(value, "title") ?? "",
    ...("input" in value && { input: value.input }),
    ...("schema" in value && { schema: value.schema }),
    expiresAt: numberOf(value, "expiresAt") ?? time,
  };
}

function planStepOf(value: unknown): PlanStep {
  const step = membersOf(value);
  const status = step.status === "in_progress" || step.status === "completed" ? step.status : "pending";
  return { text: textOf(step, "text") ?? "", status };
}

function noticeOf(value: Members, time: number): NoticeView {
  return {
    level: value.level === "warning" ? "warning" : "info",
    code: textOf(value, "code") ?? "",
    message: textOf(value, "message") ?? "",
    time,
  };
}
