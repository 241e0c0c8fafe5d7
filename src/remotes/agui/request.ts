import { defined } from "../../core/defined.js";
import type { RemoteInputArtifact, RemoteTask } from "../../delegation/remote.js";
import type { AguiMessage } from "./conversation.js";
import type { Json } from "./json.js";

/** The version of AG-UI that requests are written in; servers before 1.0 ignore it. */
const PROTOCOL_VERSION = "1.0";

/** What makes one run of a thread. */
export interface RunParts {
  readonly threadId: string;
  readonly runId: string;
  readonly parentRunId?: string;
  readonly messages: readonly AguiMessage[];
  readonly state: unknown;
  readonly resume: readonly Json[];
  readonly forwardedProps: Json;
}

/** AG-UI's `RunAgentInput`. */
export function runInput({ resume, state, ...parts }: RunParts): Json {
  return {
    ...parts,
    protocolVersion: PROTOCOL_VERSION,
    state: state ?? {},
    tools: [],
    context: [],
    ...defined({ resume: resume.length === 0 ? undefined : resume }),
  };
}

/**
 * The task's message. Files that are text stand in the text, because most servers take nothing else; the rest goes as parts by
 * its kind.
 */
export function taskContent({ text, artifacts }: Pick<RemoteTask, "text" | "artifacts">): string | Json[] {
  const written = artifacts.flatMap(asText);
  const words = [text, ...written].join("\n\n");
  const others = artifacts.filter((artifact) => asText(artifact).length === 0);
  return others.length === 0 ? words : [{ type: "text", text: words }, ...others.map(part)];
}

function asText(artifact: RemoteInputArtifact): string[] {
  const { name, mimeType } = artifact;
  if (!("bytes" in artifact) || !/^text\/|^application\/(?:[\w.-]+\+)?json\b/i.test(mimeType)) return [];
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(artifact.bytes);
    return [`--- ${name} (${mimeType}) ---\n${text}\n--- end of ${name} ---`];
  } catch {
    return [];
  }
}

function part(artifact: RemoteInputArtifact): Json {
  const { name, mimeType } = artifact;
  const kind = /^(image|audio|video)\//i.exec(mimeType)?.[1]?.toLowerCase() ?? "document";
  const source =
    "bytes" in artifact
      ? { type: "data", value: Buffer.from(artifact.bytes).toString("base64"), mimeType }
      : { type: "url", value: artifact.url, mimeType };
  return { type: kind, source, metadata: { filename: name } };
}
