import { defined } from "../core/defined.js";
import { isRunTerminal, type RunEvent } from "../core/run-event.js";
import { startOf, wellFormed } from "../core/text.js";
import { isSubagentTerminal, type SubagentEvent } from "../delegation/events.js";
import { MCP_SERVER_NAME } from "../delegation/server-name.js";
import {
  type OpenCalls,
  TRACE,
  TRACE_EXTENSION,
  type TraceExposure,
  type TracePiece,
  traceMetadata,
  tracePieces,
} from "../wire/trace.js";
import type { SidebandEvent } from "./sideband-event.js";
import type { ObservedEntry, ObservedThread } from "./telemetry.js";

/** Names of trace artifacts that only the sideband has. A delegation is two of them, as a tool call is. */
export const SIDEBAND_TRACE = {
  delegationStart: "trace.delegation.start",
  delegationEnd: "trace.delegation",
  /** Events that were lost before this one. */
  dropped: "trace.dropped",
} as const;

/** Characters of an objective or an error's text. */
const MAX_TEXT = 32_000;

/** Thoughts are sent in pieces of about this many characters. */
const THOUGHT_PIECE = 4_096;

/** What was begun by a run, or by one of its delegations. */
interface Open {
  readonly calls: OpenCalls;
  /** Thoughts that are not sent yet, by message. */
  readonly thoughts: Map<string, string>;
}

interface OpenRun extends Open {
  agent?: string;
  /** Tool calls that hand something to a sub-agent. */
  readonly delegating: Map<string, { readonly delegationId?: string }>;
  readonly delegations: Map<string, Open>;
  over: boolean;
}

/** Turns entries into events of the sideband. Keeps what is open, and nothing of what is over. */
export class SidebandEncoder {
  readonly #runs = new Map<string, OpenRun>();

  constructor(
    private readonly exposure: TraceExposure,
    private readonly describeThread: (thread: string) => ObservedThread,
  ) {}

  /** Runs of which something is open. */
  get size(): number {
    return this.#runs.size;
  }

  encode(entry: ObservedEntry): SidebandEvent[] {
    const { event, thread } = entry;
    if (event.type === "stream.gap") {
      for (const key of this.#runs.keys()) if (key.startsWith(keyOf(thread, ""))) this.#runs.delete(key);
      return [];
    }
    const key = keyOf(thread, entry.runId);
    const run = this.#runs.get(key) ?? newRun(event.type !== "run.started");
    this.#runs.set(key, run);
    const events = "delegationId" in event ? this.#subagent(entry, run, event) : this.#run(entry, run, event);
    if (run.over && run.delegations.size === 0) this.#runs.delete(key);
    return events;
  }

  #run(entry: ObservedEntry, run: OpenRun, event: RunEvent): SidebandEvent[] {
    if (event.type === "run.started") run.agent = event.agent;
    if (isRunTerminal(event)) run.over = true;
    if (event.type === "tool.start" && handsOver(event)) run.delegating.set(event.toolCallId, {});
    const pieces = this.#pieces(event, run).map((piece) => this.#enriched(piece, run));
    if (event.type === "tool.result") run.delegating.delete(event.toolCallId);
    return pieces.map((piece) => this.#event(entry, run, piece));
  }

  #subagent(entry: ObservedEntry, run: OpenRun, event: SubagentEvent): SidebandEvent[] {
    const { delegationId, parentToolCallId } = event;
    const open = run.delegations.get(delegationId) ?? newOpen();
    if (isSubagentTerminal(event)) run.delegations.delete(delegationId);
    else run.delegations.set(delegationId, open);
    // A program that does not name the server of its calls is known by what comes of one.
    if (parentToolCallId !== undefined && run.calls.has(parentToolCallId))
      run.delegating.set(parentToolCallId, { delegationId });
    const own = delegationPiece(event, this.exposure);
    const pieces = own === undefined ? this.#pieces(asRunEvent(event), open) : [own];
    return pieces.map((piece) => this.#event(entry, run, piece, delegationId));
  }

  /** What an event shows; thoughts are gathered first, because each of their words would be an event of its own. */
  #pieces(event: Parameters<typeof tracePieces>[0], { calls, thoughts }: Open): TracePiece[] {
    return tracePieces(event, this.exposure, calls).flatMap((piece) => {
      if (piece.name !== TRACE.thinking) return [piece];
      const gathered = (thoughts.get(piece.id) ?? "") + String(piece.data.content);
      const send = !piece.append || piece.last || gathered.length >= THOUGHT_PIECE;
      if (piece.last) thoughts.delete(piece.id);
      else thoughts.set(piece.id, send ? "" : gathered);
      return send ? [{ ...piece, data: { content: wellFormed(gathered) } }] : [];
    });
  }

  #enriched(piece: TracePiece, run: OpenRun): TracePiece {
    if (piece.name !== TRACE.toolStart && piece.name !== TRACE.toolEnd) return piece;
    const delegation = run.delegating.get(piece.id);
    if (delegation === undefined) return piece;
    return { ...piece, data: { ...piece.data, toolKind: "a2a_subagent", delegation: true, ...delegation } };
  }

  #event(
    { thread, runId, time }: ObservedEntry,
    run: OpenRun,
    piece: TracePiece,
    delegationId?: string,
  ): SidebandEvent {
    const { threadId, tenant } = this.describeThread(thread);
    const id = delegationId === undefined ? piece.id : `${delegationId}-${piece.id}`;
    return sidebandEvent(
      { ...piece, id },
      { taskId: runId, contextId: threadId, time },
      defined({ agent: run.agent, tenant, delegationId }),
    );
  }
}

/** The event that tells how many others are missing before it. */
export function droppedEvent(count: number, time: number): SidebandEvent {
  const piece = {
    name: SIDEBAND_TRACE.dropped,
    id: String(time),
    data: { count },
    append: false,
    last: true,
  };
  return sidebandEvent(piece, { taskId: "", contextId: "", time }, {});
}

function sidebandEvent(
  { name, id, data, append, last }: TracePiece,
  { taskId, contextId, time }: { readonly taskId: string; readonly contextId: string; readonly time: number },
  metadata: SidebandEvent["metadata"],
): SidebandEvent {
  return {
    taskId,
    contextId,
    artifact: {
      artifactId: `${name}-${id}`,
      name,
      parts: [{ data, mediaType: "application/json" }],
      metadata: traceMetadata(name, time),
      extensions: [TRACE_EXTENSION],
    },
    append,
    lastChunk: last,
    metadata,
  };
}

/** Whether a tool call goes to the server that the host gives to its parents. */
function handsOver({ server, name }: RunEvent & { readonly type: "tool.start" }): boolean {
  return server === MCP_SERVER_NAME || name.startsWith(`mcp__${MCP_SERVER_NAME}__`);
}

/** How a delegation begins and ends. */
function delegationPiece(event: SubagentEvent, { tools }: TraceExposure): TracePiece | undefined {
  const { delegationId, agentKey, agentName, protocol, parentToolCallId, remoteTaskId, remoteContextId } =
    event;
  const identity = {
    delegationId,
    agentKey,
    agentName,
    protocol,
    toolKind: "a2a_subagent",
    delegation: true,
    ...defined({ toolCallId: parentToolCallId, remoteTaskId, remoteContextId }),
  };
  const piece = (name: string, data: TracePiece["data"]): TracePiece => ({
    name,
    // The delegation's own id is put before it.
    id: "delegation",
    data: { ...identity, ...data },
    append: false,
    last: true,
  });
  switch (event.type) {
    case "subagent.started": {
      const { correlation, objective } = event;
      const request = tools === "full" ? { request: capped(objective) } : {};
      return piece(SIDEBAND_TRACE.delegationStart, { correlation, ...request });
    }
    case "subagent.finished":
      return piece(SIDEBAND_TRACE.delegationEnd, { status: "completed", sizes: event.sizes });
    case "subagent.failed": {
      const { code, message, retryable, remoteStatus } = event.error;
      const error = { code, message: capped(message), retryable, ...defined({ remoteStatus }) };
      return piece(SIDEBAND_TRACE.delegationEnd, { status: "failed", error, sizes: event.sizes });
    }
    case "subagent.cancelled": {
      const { reason, confirmed, sizes } = event;
      return piece(SIDEBAND_TRACE.delegationEnd, {
        status: "cancelled",
        reason: capped(reason),
        confirmed,
        sizes,
      });
    }
    default:
      return undefined;
  }
}

/** What a remote thinks and which tools it calls, in the words that runs have for it. */
function asRunEvent(event: SubagentEvent): Parameters<typeof tracePieces>[0] {
  switch (event.type) {
    case "subagent.reasoning.start":
    case "subagent.reasoning.end":
      return {
        type: event.type === "subagent.reasoning.end" ? "reasoning.end" : "reasoning.start",
        messageId: event.messageId,
      };
    case "subagent.reasoning.delta":
      return { type: "reasoning.delta", messageId: event.messageId, delta: event.delta };
    case "subagent.tool.start":
      return { type: "tool.start", toolCallId: event.toolCallId, name: event.name };
    case "subagent.tool.args":
      return { type: "tool.args", toolCallId: event.toolCallId, delta: event.delta };
    case "subagent.tool.end":
      return { type: "tool.end", toolCallId: event.toolCallId };
    case "subagent.tool.result":
      return {
        type: "tool.result",
        toolCallId: event.toolCallId,
        content: event.content,
        isError: event.isError,
      };
    default:
      return event;
  }
}

function newOpen(): Open {
  return { calls: new Map(), thoughts: new Map() };
}

/** @param over its beginning was not seen, so nothing says that its end will be */
function newRun(over: boolean): OpenRun {
  return { ...newOpen(), delegating: new Map(), delegations: new Map(), over };
}

function keyOf(thread: string, runId: string): string {
  return `${thread}\u0000${runId}`;
}

function capped(text: string): string {
  return wellFormed(startOf(text, MAX_TEXT));
}
