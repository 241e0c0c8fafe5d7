import { type Artifact, type Message, type Part, Role } from "@a2a-js/sdk";

/** A part of text. */
export function textPart(value: string): Part {
  return { content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "" };
}

/** A part of data. */
export function dataPart(value: unknown): Part {
  return {
    content: { $case: "data", value },
    metadata: undefined,
    filename: "",
    mediaType: "application/json",
  };
}

/** An artifact with what is optional left out. */
export function artifactOf(
  artifactId: string,
  name: string,
  parts: Part[],
  more: Partial<Pick<Artifact, "extensions" | "metadata">> = {},
): Artifact {
  return { artifactId, name, description: "", parts, metadata: undefined, extensions: [], ...more };
}

/** A message of the agent's within a task. */
export function agentMessage(
  messageId: string,
  { taskId, contextId }: { readonly taskId: string; readonly contextId: string },
  parts: Part[],
): Message {
  return {
    messageId,
    taskId,
    contextId,
    role: Role.ROLE_AGENT,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

/** A message of the caller's as the journal kept it. */
export function userMessage(
  messageId: string,
  { taskId, contextId }: { readonly taskId: string; readonly contextId: string },
  text: string,
): Message {
  return { ...agentMessage(messageId, { taskId, contextId }, [textPart(text)]), role: Role.ROLE_USER };
}
