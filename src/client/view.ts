import type { ApprovalDecision, ApprovalRequest } from "../core/approval.js";
import type { ApprovalResolver, PlanStep } from "../core/run-event.js";
import type {
  ArtifactDescription,
  BoundarySizes,
  CorrelationLevel,
  RemoteProtocol,
} from "../delegation/events.js";
import type { Cursor } from "../journal/journal.js";

/**
 * What a person sees of a thread, folded from its events by `createThreadView`. The objects are changed in place and keep their
 * identity; `version` of an object grows whenever it or anything below it changed, so a renderer compares one number.
 */
export interface ThreadView {
  readonly version: number;
  /** The last event that was folded. */
  readonly cursor?: Cursor;
  readonly runs: readonly RunView[];
  /** Places where the host no longer had the events. */
  readonly gaps: readonly { readonly after: string; readonly resumesAt: string }[];
}

export type RunStatus = "running" | "finished" | "failed" | "cancelled";

/** A person's message and what the agent did with it. */
export interface RunView {
  readonly version: number;
  /** Empty when the run's beginning is not known (trimmed) and nothing has named it yet. */
  readonly runId: string;
  readonly status: RunStatus;
  readonly userMessages: readonly { readonly id: string; readonly text: string }[];
  /** In the order of their first event. */
  readonly items: readonly ItemView[];
  /** Delegations whose tool call is not known, yet or at all. */
  readonly subagents: readonly SubagentView[];
  /** All approvals of the run; those of a known tool call stand there too. */
  readonly approvals: readonly ApprovalView[];
  readonly plan: readonly PlanStep[];
  readonly notices: readonly NoticeView[];
  readonly error?: ErrorView;
  /** Why it was cancelled. */
  readonly reason?: string;
  /** Milliseconds since the epoch, by the host's clock; so are all times below. */
  readonly startedAt: number;
  readonly endedAt?: number;
}

/** Something that an agent said, thought or did. */
export type ItemView = TextView | ToolCallView;

/** A message or a piece of reasoning. */
export interface TextView {
  readonly kind: "text" | "reasoning";
  readonly version: number;
  readonly id: string;
  readonly text: string;
  readonly done: boolean;
}

/** `arguments`: they are still being written. `running`: waits for its result. `stopped`: the run or the delegation ended first. */
export type ToolCallState = "arguments" | "running" | "done" | "failed" | "stopped";

/** A call of a tool. */
export interface ToolCallView {
  readonly kind: "tool";
  readonly version: number;
  readonly id: string;
  /** Short, e.g. `delegate_to_agent`. */
  readonly name: string;
  /** As the program names it, when that is longer. */
  readonly rawName?: string;
  readonly state: ToolCallState;
  /** JSON text, incomplete while `state` is `arguments`. */
  readonly arguments: string;
  /** What the model was given. */
  readonly result?: string;
  /** What a native subagent of the program, started by this call, said and did. */
  readonly items: readonly ItemView[];
  readonly subagents: readonly SubagentView[];
  readonly approvals: readonly ApprovalView[];
  readonly startedAt: number;
  readonly endedAt?: number;
}

export type SubagentState = "starting" | "working" | "needs_you" | "stopping" | "done" | "failed" | "stopped";

/** A remote agent at work for a run. */
export interface SubagentView {
  readonly version: number;
  readonly delegationId: string;
  readonly runId: string;
  readonly parentToolCallId?: string;
  readonly agentKey: string;
  readonly agentName: string;
  readonly protocol: RemoteProtocol;
  readonly remoteTaskId?: string;
  readonly remoteContextId?: string;
  readonly objective: string;
  readonly state: SubagentState;
  /** The remote's last words about its state. */
  readonly statusMessage?: string;
  /** It goes on without its run, which is over. */
  readonly detached?: true;
  /** What it asks for while `state` is `needs_you`. */
  readonly prompt?: string;
  /** It takes an answer: `client.answerDelegation`. An authorisation, in contrast, is given elsewhere. */
  readonly takesAnswer?: boolean;
  /** How often it has asked so far. */
  readonly questionCount: number;
  /** JSON Schema of the answer, when it wants data rather than words. */
  readonly schema?: unknown;
  readonly items: readonly ItemView[];
  /** In the order of their first event; a later one of the same id takes its place. */
  readonly artifacts: readonly ArtifactDescription[];
  /** The exact JSON that the parent's model was given, once it ended. */
  readonly result?: unknown;
  readonly sizes?: BoundarySizes;
  readonly error?: ErrorView;
  /** Why it was cancelled. */
  readonly reason?: string;
  /** Whether the remote confirmed the cancel. */
  readonly confirmed?: boolean;
  readonly startedAt: number;
  readonly endedAt?: number;
  /** Its states in order, each until the next one's beginning; the first begins at `startedAt`. */
  readonly phases: readonly PhaseView[];
  /** What is worth a mark on a timeline, in order. */
  readonly marks: readonly MarkView[];
  /** How its tool call was found. */
  readonly correlation?: CorrelationLevel;
  /** Of the agent's card, when it has one. */
  readonly cardFingerprint?: string;
  /** The card was another one when the agent was last heard of. */
  readonly cardChangedFrom?: string;
}

/** A state of a delegation and when it began. */
export interface PhaseView {
  readonly state: SubagentState;
  readonly from: number;
}

/** A moment of a delegation: it asked, or it made a file for the first time. */
export interface MarkView {
  readonly kind: "input" | "artifact";
  readonly time: number;
  /** The question, or the file's name. */
  readonly label: string;
}

/** A question of the agent to a person. */
export interface ApprovalView {
  readonly version: number;
  readonly request: ApprovalRequest;
  readonly decision?: ApprovalDecision["decision"];
  readonly by?: ApprovalResolver;
}

/** Something worth knowing that is not part of the conversation. */
export interface NoticeView {
  readonly level: "info" | "warning";
  readonly code: string;
  readonly message: string;
  readonly time: number;
}

/** What went wrong. */
export interface ErrorView {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  /** The remote's own word for its state. */
  readonly remoteStatus?: string;
}

/** Whether a delegation is over. */
export function isSubagentOver(state: SubagentState): boolean {
  return state === "done" || state === "failed" || state === "stopped";
}

/** Whether anything of a run waits for a person. */
export function runNeedsYou(run: RunView): boolean {
  return (
    (run.status === "running" && run.approvals.some(isPending)) ||
    delegationsOf(run).some((subagent) => subagent.state === "needs_you")
  );
}

/** Whether an approval waits for its answer. */
export function isPending(approval: ApprovalView): boolean {
  return approval.decision === undefined;
}

/** All delegations of a run, those under tool calls first, in order. */
export function delegationsOf(run: RunView): SubagentView[] {
  const found: SubagentView[] = [];
  const walk = (items: readonly ItemView[]) => {
    for (const item of items) {
      if (item.kind !== "tool") continue;
      found.push(...item.subagents);
      walk(item.items);
    }
  };
  walk(run.items);
  found.push(...run.subagents);
  return found;
}
