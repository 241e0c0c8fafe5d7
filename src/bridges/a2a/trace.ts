import type { Artifact } from "@a2a-js/sdk";
import { startOf, wellFormed } from "../../core/text.js";
import type { FaceEvent } from "./face-host.js";
import type { ExposurePolicy } from "./options.js";
import { artifactOf, dataPart } from "./parts.js";
import { TRACE, TRACE_EXTENSION } from "./vocabulary.js";

/** A piece of a trace artifact. */
export interface TracePiece {
  readonly artifact: Artifact;
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

/** Characters of a tool's arguments or result that leave the host. */
const MAX_TOOL_TEXT = 32_000;

/** Tools of the local agents that change files, and where their arguments name the path. */
const FILE_TOOLS =
  /^(?:write|edit|multi_?edit|notebook_?edit|apply_patch|file_?change|patch|replace|write_file)$/i;
const PATH_MEMBERS = ["file_path", "path", "notebook_path", "filePath"];

/** What an event shows beside the agent's words, as far as the policy lets it out. */
export function encodeTrace(
  event: FaceEvent,
  time: number,
  exposure: ExposurePolicy,
  calls: OpenCalls,
): TracePiece[] {
  const whole = (name: string, id: string, data: unknown): TracePiece[] => [
    { artifact: traceArtifact(name, id, time, data), append: false, last: true },
  ];
  switch (event.type) {
    case "reasoning.start":
    case "reasoning.delta":
    case "reasoning.end": {
      if (!exposure.reasoning || event.parentToolCallId !== undefined) return [];
      const content = event.type === "reasoning.delta" ? event.delta : "";
      const artifact = traceArtifact(TRACE.thinking, event.messageId, time, { content });
      const append = event.type !== "reasoning.start";
      return [{ artifact, append, last: event.type === "reasoning.end" }];
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

function traceArtifact(name: string, id: string, time: number, data: unknown): Artifact {
  return artifactOf(`${name}-${id}`, name, [dataPart(data)], {
    extensions: [TRACE_EXTENSION],
    metadata: { traceType: name, timestamp: new Date(time).toISOString() },
  });
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
