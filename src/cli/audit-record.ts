import type { ThreadEntry, ThreadEvent } from "../bridges/agui/event.js";
import { formatBytes } from "../client/wording.js";
import type { DelegationState } from "../delegation/delegation-state.js";
import type { DelegationAudit, SubagentEvent } from "../delegation/events.js";
import { tenantOf, threadIdOf } from "../host/authoriser.js";
import { foldDelegation, isSubagentEvent } from "../host/recorded-delegation.js";
import type { Journal, RecordedSpan } from "../journal/journal.js";
import { clean, oneLine, wrap } from "./tree/render.js";

const WIDTH = 100;
const LABEL = 12;

/** Everything that the journal knows of a delegation, as lines: who asked, what was sent, what happened when, and the end. */
export async function auditRecord(journal: Journal<ThreadEvent>, span: RecordedSpan): Promise<string[]> {
  const { thread, runId, delegationId = "", first, last } = span;
  const states: string[] = [];
  let state: DelegationState | undefined;
  let audit: DelegationAudit | undefined;
  let startedAt: number | undefined;
  let sizes: { readonly seen: number; readonly model: number } | undefined;
  for await (const batch of journal.read(thread, { after: String(Number(first) - 1) })) {
    for (const { time, event, cursor } of batch) {
      if (!isSubagentEvent(event) || event.delegationId !== delegationId) continue;
      state = foldDelegation(state, event);
      startedAt ??= time;
      if (event.type === "subagent.started") audit = event.audit;
      if ("sizes" in event) sizes = event.sizes;
      const words = wordsOf(event);
      if (words !== undefined) states.push(stateLine(cursor, time, startedAt, words));
    }
    if (batch.some(({ cursor }) => cursor === last)) break;
  }
  if (state === undefined) return [];
  const { agentKey, agentName, protocol, parentToolCallId, remoteTaskId, remoteContextId } = state.identity;
  const tenant = tenantOf(thread);
  const agent = await agentOf(journal, span);
  const by = [
    ...(agent === undefined ? [] : [agent]),
    `run ${runId}`,
    ...(parentToolCallId === undefined
      ? []
      : [`tool call ${parentToolCallId} (found: ${state.correlation})`]),
    `thread ${threadIdOf(thread)}`,
    ...(tenant === "" ? [] : [`tenant ${tenant}`]),
  ];
  return [
    ...field("Delegation", delegationId),
    ...field("State", state.answer?.status ?? "not over"),
    ...field("Agent", `${agentKey} (${agentName}, ${protocol})`),
    ...field("Card", state.cardFingerprint && `sha256 ${state.cardFingerprint}`),
    ...field("Asked by", by.join(", ")),
    ...field("Objective", state.objective),
    ...sentFields(audit),
    ...field(
      "Remote",
      [remoteTaskId && `task ${remoteTaskId}`, remoteContextId && `context ${remoteContextId}`]
        .filter(Boolean)
        .join(", "),
    ),
    ...field(
      "Sizes",
      sizes && `people saw ${formatBytes(sizes.seen)}, the model ${formatBytes(sizes.model)}`,
    ),
    "",
    ...states,
    ...(state.answer === undefined
      ? []
      : ["", "What the model got:", ...clean(JSON.stringify(state.answer, undefined, 2)).split("\n")]),
  ];
}

function sentFields(audit: DelegationAudit | undefined): string[] {
  if (audit === undefined) return [];
  const { tool, callId, messageId, size, sha256, text, artifacts, traceparent } = audit;
  return [
    ...field("Tool", callId === undefined ? tool : `${tool}, call ${callId}`),
    ...field("Sent", `message ${messageId}, ${formatBytes(size)}, sha256 ${sha256}`),
    ...field("", text),
    ...artifacts.flatMap(({ name, sha256: digest }) => field("File", `${name}, sha256 ${digest}`)),
    ...field("Trace", traceparent),
  ];
}

/** The agent whose run asked. */
async function agentOf(
  journal: Journal<ThreadEvent>,
  { thread, runId, first: begin }: RecordedSpan,
): Promise<string | undefined> {
  const runs = (await journal.find?.({ runId, thread })) ?? [];
  const run = runs.findLast(({ first }) => Number(first) < Number(begin));
  if (run === undefined) return undefined;
  for await (const [entry] of journal.read(thread, { after: String(Number(run.first) - 1) }))
    return entry?.event.type === "run.started" ? entry.event.agent : undefined;
  return undefined;
}

function field(label: string, value: string | undefined): string[] {
  if (value === undefined || value === "") return [];
  const [first = "", ...rest] = wrap(value, WIDTH - LABEL);
  return [label.padEnd(LABEL) + first, ...rest.map((line) => " ".repeat(LABEL) + line)];
}

function stateLine(cursor: ThreadEntry["cursor"], time: number, start: number, words: string): string {
  const after = `+${((time - start) / 1_000).toFixed(3)} s`;
  return `${new Date(time).toISOString()} ${after.padStart(11)}  #${cursor} ${oneLine(words, WIDTH)}`;
}

/** One line for what changed; text is left out. */
function wordsOf(event: SubagentEvent): string | undefined {
  const name = event.type.slice("subagent.".length);
  switch (event.type) {
    case "subagent.status":
      return event.message === undefined ? event.status : `${event.status}: ${event.message}`;
    case "subagent.tool.start":
      return `tool ${event.name}`;
    case "subagent.input_required":
      return `asks: ${event.prompt}`;
    case "subagent.input_resolved":
      return `answered by ${event.by}`;
    case "subagent.artifact": {
      const { artifact, error } = event;
      const kept = error === undefined ? `sha256 ${artifact.sha256}` : error.code;
      return `file ${artifact.name}, ${formatBytes(artifact.size)}, ${kept}`;
    }
    case "subagent.failed":
      return `failed: ${event.error.code}: ${event.error.message}`;
    case "subagent.cancelled":
      return `cancelled: ${event.reason}${event.confirmed ? "" : " (not confirmed)"}`;
    case "subagent.started":
    case "subagent.finished":
    case "subagent.detached":
    case "subagent.resumed":
    case "subagent.correlated":
      return name;
    default:
      return undefined;
  }
}
