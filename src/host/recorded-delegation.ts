import type { ThreadEvent } from "../bridges/agui/event.js";
import { defined } from "../core/defined.js";
import { startOf } from "../core/text.js";
import { type DelegationState, MAX_TEXTS, newDelegation } from "../delegation/delegation-state.js";
import type { SubagentEvent } from "../delegation/events.js";
import { DEFAULT_POLICY } from "../delegation/policy.js";
import type { DelegationResult } from "../delegation/result.js";
import type { Cursor, Journal } from "../journal/journal.js";

/** A delegation as the journal has it. */
export interface RecordedDelegation {
  readonly run: { readonly thread: string; readonly runId: string };
  readonly state: DelegationState;
  /** Its first entry. */
  readonly first: Cursor;
}

/** Characters that are kept of a text that grows: more than any result holds. */
const MAX_TEXT = 1_000_000;

/** What a delegation is after another of its events; `undefined` before its first. */
export function foldDelegation(state: DelegationState | undefined, event: SubagentEvent): DelegationState {
  const { runId, delegationId, agentKey, agentName, protocol } = event;
  const { parentToolCallId, remoteTaskId, remoteContextId } = event;
  const identity = {
    runId,
    delegationId,
    agentKey,
    agentName,
    protocol,
    ...defined({ parentToolCallId, remoteTaskId, remoteContextId }),
  };
  const before: DelegationState = state ?? {
    ...newDelegation(identity, {
      objective: "",
      correlation: "none",
      maxResultBytes: DEFAULT_POLICY.maxResultBytes,
    }),
    started: true,
    phase: "working",
  };
  return { ...change({ ...before, identity }, event) };
}

function change(state: DelegationState, event: SubagentEvent): DelegationState {
  const { openText: _text, openReasoning: _reasoning, question: _question, ...rest } = state;
  const seen = (text: string) => state.seen + Buffer.byteLength(text);
  switch (event.type) {
    case "subagent.started": {
      const { objective, correlation, cardFingerprint } = event;
      return { ...state, objective, correlation, ...defined({ cardFingerprint }) };
    }
    case "subagent.detached":
    case "subagent.resumed":
      return { ...state, detached: event.type === "subagent.detached" };
    case "subagent.correlated":
      return { ...state, correlation: event.correlation };
    case "subagent.status":
      // The host's own word, for a task that is known only after the start was shown.
      if (event.status === "accepted" && event.message === undefined) return state;
      return { ...state, status: event.status, seen: seen(event.message ?? "") };
    case "subagent.text.start":
      return { ...state, openText: event.messageId, growing: "" };
    case "subagent.text.delta":
      return { ...state, growing: grown(state.growing, event.delta), seen: seen(event.delta) };
    case "subagent.text.end":
      return {
        ...rest,
        ...reasoningOf(state),
        ...questionOf(state),
        texts: [...state.texts, state.growing].slice(-MAX_TEXTS),
        growing: "",
      };
    case "subagent.reasoning.start":
      return { ...state, openReasoning: event.messageId };
    case "subagent.reasoning.delta":
      return { ...state, seen: seen(event.delta) };
    case "subagent.reasoning.end":
      return { ...rest, ...textOf(state), ...questionOf(state) };
    case "subagent.tool.start":
      return { ...state, openTools: [...state.openTools, event.toolCallId] };
    case "subagent.tool.args":
      return { ...state, seen: seen(event.delta) };
    case "subagent.tool.end":
      return { ...state, openTools: state.openTools.filter((id) => id !== event.toolCallId) };
    case "subagent.tool.result":
      return { ...state, seen: seen(event.content) };
    case "subagent.input_required": {
      const { prompt, schema } = event;
      const question = { prompt, ...defined({ schema }) };
      return { ...state, question, status: "input-required", seen: seen(prompt) };
    }
    case "subagent.input_resolved":
      return { ...rest, ...textOf(state), ...reasoningOf(state) };
    case "subagent.artifact": {
      const { artifact, error } = event;
      const others = state.artifacts.filter((known) => known.artifact.id !== artifact.id);
      const artifacts = [...others, { artifact, ...defined({ error }) }];
      return { ...state, artifacts, seen: state.seen + artifact.size };
    }
    case "subagent.finished":
    case "subagent.failed":
    case "subagent.cancelled":
      return {
        ...rest,
        phase: "over",
        answer: event.result as DelegationResult,
        seen: event.sizes.seen,
        ...(event.type === "subagent.cancelled"
          ? { stop: { cause: "cancel" as const, reason: event.reason } }
          : {}),
      };
  }
}

/** What is full already is not looked at again: that would take longer than all the pieces that follow. */
function grown(text: string, delta: string): string {
  return text.length >= MAX_TEXT - 1 ? text : startOf(text + delta, MAX_TEXT);
}

const textOf = ({ openText }: DelegationState) => defined({ openText });
const reasoningOf = ({ openReasoning }: DelegationState) => defined({ openReasoning });
const questionOf = ({ question }: DelegationState) => defined({ question });

/** A delegation of a thread for which `mine` holds, from the journal's own index. */
export async function recordedDelegation(
  journal: Journal<ThreadEvent>,
  delegationId: string,
  mine: (thread: string) => boolean,
): Promise<RecordedDelegation | undefined> {
  const spans = (await journal.find?.({ delegationId })) ?? [];
  const span = spans.findLast(({ thread }) => mine(thread));
  if (span === undefined) return undefined;
  const { thread, runId, first } = span;
  const [state] = await foldFrom(journal, thread, first, (event) => event.delegationId === delegationId);
  return state && { run: { thread, runId }, state, first };
}

/** The delegations of a run, oldest first, from the journal. */
export function recordedDelegations(
  journal: Journal<ThreadEvent>,
  { thread, runId }: { readonly thread: string; readonly runId: string },
  first: Cursor,
): Promise<DelegationState[]> {
  return foldFrom(journal, thread, first, (event) => event.runId === runId, runId);
}

/** Reads on until all that was begun is over, or to the end of what is recorded. */
async function foldFrom(
  journal: Journal<ThreadEvent>,
  thread: string,
  first: Cursor,
  wanted: (event: SubagentEvent) => boolean,
  runId?: string,
): Promise<DelegationState[]> {
  const states = new Map<string, DelegationState>();
  let runOver = runId === undefined;
  const isOver = () =>
    runOver && states.size > 0 && [...states.values()].every(({ phase }) => phase === "over");
  for await (const batch of journal.read(thread, { after: String(Number(first) - 1) })) {
    for (const { event, runId: of } of batch) {
      if (!isSubagentEvent(event)) {
        const ended = /^run\.(?:finished|failed|cancelled)$/.test(event.type) && of === runId;
        if (ended) runOver = true;
        if (ended && states.size === 0) return [];
      } else if (wanted(event)) {
        states.set(event.delegationId, foldDelegation(states.get(event.delegationId), event));
      } else continue;
      if (isOver()) return [...states.values()];
    }
  }
  return [...states.values()];
}

/** Whether an event belongs to a delegation. */
export function isSubagentEvent(event: { readonly type: string }): event is SubagentEvent {
  return event.type.startsWith("subagent.");
}
