import type { RunEvent } from "../core/run-event.js";
import { startOf, wellFormed } from "../core/text.js";

/** Extension whose artifacts show what an agent does beside its answer. Each of them lists it under `extensions`. */
export const TRACE_EXTENSION = "urn:x-a2a:trace:v1";

/** Names of trace artifacts. A tool call is two of them: its start, and its end with the result. */
export const TRACE = {
  toolStart: "trace.mcp.start",
  toolEnd: "trace.mcp",
  thinking: "trace.thinking",
  file: "trace.file",
  usage: "trace.usage",
} as const;

/** What is shown beside the agent's words. */
export interface TraceExposure {
  readonly reasoning: boolean;
  readonly tools: "none" | "names" | "full";
  readonly files: boolean;
  readonly usage: boolean;
}

/** A piece of a trace artifact. */
export interface TracePiece {
  readonly name: string;
  /** Tells artifacts of one name apart. */
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly append: boolean;
  readonly last: boolean;
}

/** A tool call whose result is not known yet. */
interface OpenCall {
  readonly name: string;
  readonly args: string;
}

/** Tool calls that are open, by their ids. */
export type OpenCalls = Map<string, OpenCall>;

/** Characters of a tool's arguments or result that are shown. */
const MAX_TOOL_TEXT = 32_000;

/** Tools of the local agents that change files, and where their arguments name the path. */
const FILE_TOOLS =
  /^(?:write|edit|multi_?edit|notebook_?edit|apply_patch|file_?change|patch|replace|write_file)$/i;
const PATH_MEMBERS = ["file_path", "path", "notebook_path", "filePath"];

/** What an event shows beside the agent's words, as far as `exposure` lets it out. */
export function tracePieces(
  event: RunEvent | { readonly type: `subagent.${string}` },
  exposure: TraceExposure,
  calls: OpenCalls,
): TracePiece[] {
  const whole = (name: string, id: string, data: TracePiece["data"]): TracePiece[] => [
    { name, id, data, append: false, last: true },
  ];
  switch (event.type) {
    case "reasoning.start":
    case "reasoning.delta":
    case "reasoning.end": {
      if (!exposure.reasoning || event.parentToolCallId !== undefined) return [];
      const content = event.type === "reasoning.delta" ? event.delta : "";
      const append = event.type !== "reasoning.start";
      const last = event.type === "reasoning.end";
      return [{ name: TRACE.thinking, id: event.messageId, data: { content }, append, last }];
    }
    case "tool.start": {
      const name = event.tool ?? event.name;
      const files = exposure.files && FILE_TOOLS.test(name);
      if (exposure.tools === "none" && !files) return [];
      calls.set(event.toolCallId, { name, args: "" });
      if (exposure.tools === "none") return [];
      return whole(TRACE.toolStart, event.toolCallId, { tool: name, toolCallId: event.toolCallId });
    }
    case "tool.args": {
      const call = calls.get(event.toolCallId);
      if (call === undefined || call.args.length > MAX_TOOL_TEXT) return [];
      calls.set(event.toolCallId, { ...call, args: call.args + event.delta });
      return [];
    }
    case "tool.end": {
      const call = calls.get(event.toolCallId);
      if (call === undefined || exposure.tools !== "full") return [];
      const data = { tool: call.name, toolCallId: event.toolCallId, request: capped(call.args) };
      return whole(TRACE.toolStart, event.toolCallId, data);
    }
    case "tool.result": {
      const call = calls.get(event.toolCallId);
      if (call === undefined) return [];
      calls.delete(event.toolCallId);
      const data = {
        tool: call.name,
        toolCallId: event.toolCallId,
        status: event.isError ? "failed" : "completed",
      };
      const path = exposure.files && FILE_TOOLS.test(call.name) ? pathIn(call.args) : undefined;
      const file = path === undefined ? [] : whole(TRACE.file, event.toolCallId, { ...data, path });
      if (exposure.tools === "none") return file;
      if (exposure.tools === "names") return [...file, ...whole(TRACE.toolEnd, event.toolCallId, data)];
      const response = capped(event.content);
      return [...whole(TRACE.toolEnd, event.toolCallId, { ...data, response }), ...file];
    }
    case "usage":
      return exposure.usage ? whole(TRACE.usage, "run", { ...event.usage }) : [];
    default:
      return [];
  }
}

/** What trace artifacts say of their own kind. */
export function traceMetadata(name: string, time: number): { traceType: string; timestamp: string } {
  return { traceType: name, timestamp: new Date(time).toISOString() };
}

/** The path in a tool's arguments, which may be cut and so no JSON any more. */
function pathIn(args: string): string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(args);
  } catch {
    const found = /"(?:file_path|path|notebook_path|filePath)"\s*:\s*"((?:[^"\\]|\\.){1,1000})"/.exec(args);
    return found?.[1] === undefined ? undefined : unquoted(found[1]);
  }
  if (typeof parsed !== "object" || parsed === null) return undefined;
  const members = Object.entries(parsed).filter(([name]) => PATH_MEMBERS.includes(name));
  const path: unknown = members.find(([, value]) => typeof value === "string")?.[1];
  return typeof path === "string" ? capped(path) : undefined;
}

function unquoted(text: string): string | undefined {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return undefined;
  }
}

function capped(text: string): string {
  return wellFormed(startOf(text, MAX_TOOL_TEXT));
}
