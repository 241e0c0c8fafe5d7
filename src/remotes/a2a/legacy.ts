import { type Message, Role, type SendMessageRequest } from "@a2a-js/sdk";

type Json = Readonly<Record<string, unknown>>;

/** A response in the shape of version 1.0, with what only version 0.3 says. */
export interface ModernResponse {
  readonly json: unknown;
  readonly final?: boolean;
  readonly bare?: boolean;
}

const WRAPPERS = ["task", "message", "statusUpdate", "artifactUpdate"] as const;

/**
 * Brings a response into the shape of version 1.0. Decides by the shape alone: servers exist that leave `kind` out, and such that
 * mix the shapes of one version with the methods of the other.
 */
export function modernResponse(result: unknown): ModernResponse {
  if (!isJson(result)) return { json: {} };
  const wrapper = WRAPPERS.find((name) => isJson(result[name]));
  if (wrapper !== undefined && result.kind === undefined) return { json: result };
  const final = typeof result.final === "boolean" ? { final: result.final } : {};
  const { kind } = result;
  if (kind === "message" || (kind === undefined && Array.isArray(result.parts)))
    return { json: { message: modernMessage(result) } };
  if (kind === "artifact-update" || (kind === undefined && isJson(result.artifact))) {
    return { json: { artifactUpdate: { ...result, artifact: modernArtifact(result.artifact) } } };
  }
  if (kind === "status-update" || (kind === undefined && result.id === undefined && isJson(result.status))) {
    return { json: { statusUpdate: { ...result, status: modernStatus(result.status) } }, ...final };
  }
  if (kind !== "task" && typeof result.id !== "string") return { json: {} };
  const state = isJson(result.status) ? result.status.state : undefined;
  const bare = kind === undefined && typeof state === "string" && !state.startsWith("TASK_STATE_");
  return { json: { task: modernTask(result) }, ...(bare ? { bare } : {}) };
}

/** The parameters of `message/send` and `message/stream`. */
export function legacyParams(request: SendMessageRequest, blocking: boolean | undefined): Json {
  const { message } = request;
  return {
    message: message === undefined ? undefined : legacyMessage(message),
    ...(blocking === undefined ? {} : { configuration: { blocking } }),
  };
}

function legacyMessage(message: Message): Json {
  return {
    kind: "message",
    messageId: message.messageId,
    role: message.role === Role.ROLE_AGENT ? "agent" : "user",
    parts: message.parts.flatMap((part): Json[] => {
      const { content, mediaType, filename } = part;
      const file = {
        ...(filename === "" ? {} : { name: filename }),
        ...(mediaType === "" ? {} : { mimeType: mediaType }),
      };
      switch (content?.$case) {
        case "text":
          return [{ kind: "text", text: content.value }];
        case "raw":
          return [{ kind: "file", file: { ...file, bytes: Buffer.from(content.value).toString("base64") } }];
        case "url":
          return [{ kind: "file", file: { ...file, uri: content.value } }];
        case "data":
          // Version 0.3 knows objects only.
          return [{ kind: "data", data: isJson(content.value) ? content.value : { value: content.value } }];
        default:
          return [];
      }
    }),
    ...(message.contextId === "" ? {} : { contextId: message.contextId }),
    ...(message.taskId === "" ? {} : { taskId: message.taskId }),
    ...(message.metadata === undefined || Object.keys(message.metadata).length === 0
      ? {}
      : { metadata: message.metadata }),
  };
}

function modernTask(task: Json): Json {
  return {
    ...task,
    status: modernStatus(task.status),
    artifacts: Array.isArray(task.artifacts) ? task.artifacts.filter(isJson).map(modernArtifact) : [],
    // It repeats what was sent and what was said.
    history: [],
  };
}

function modernStatus(status: unknown): unknown {
  if (!isJson(status)) return undefined;
  return {
    ...status,
    state: modernState(status.state),
    ...(isJson(status.message) ? { message: modernMessage(status.message) } : { message: undefined }),
  };
}

function modernState(state: unknown): unknown {
  if (typeof state !== "string" || state.startsWith("TASK_STATE_")) return state;
  const word = state === "cancelled" ? "canceled" : state;
  return `TASK_STATE_${word.toUpperCase().replaceAll("-", "_")}`;
}

function modernMessage(message: Json): Json {
  return {
    ...message,
    role: message.role === "user" ? "ROLE_USER" : message.role === "agent" ? "ROLE_AGENT" : message.role,
    parts: modernParts(message.parts),
  };
}

function modernArtifact(artifact: unknown): unknown {
  return isJson(artifact) ? { ...artifact, parts: modernParts(artifact.parts) } : undefined;
}

function modernParts(parts: unknown): Json[] {
  if (!Array.isArray(parts)) return [];
  return parts.filter(isJson).map((part) => {
    const { file } = part;
    if (!isJson(file)) return part;
    return {
      ...(typeof file.bytes === "string" ? { raw: file.bytes } : { url: file.uri }),
      filename: file.name,
      mediaType: file.mimeType,
      metadata: part.metadata,
    };
  });
}

function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
