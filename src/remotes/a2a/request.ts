import { type Message, type Part, Role, type SendMessageRequest } from "@a2a-js/sdk";
import type {
  RemoteInput,
  RemoteInputArtifact,
  RemoteTask,
  RemoteTaskReference,
} from "../../delegation/remote.js";

/** The request that starts `task`. The tenant is the interface's; the channel adds it. */
export function sendRequest(task: RemoteTask, returnImmediately: boolean): SendMessageRequest {
  return requestOf(
    {
      messageId: task.messageId,
      contextId: task.contextId ?? "",
      // Only the agent makes task ids.
      taskId: "",
      parts: [textPart(task.text), ...task.artifacts.map(inputPart)],
      metadata: { ...task.metadata },
    },
    returnImmediately,
  );
}

/** The request that answers what a task asked. */
export function answerRequest(
  reference: RemoteTaskReference,
  input: RemoteInput,
  messageId: string,
  returnImmediately: boolean,
): SendMessageRequest {
  const { text, data } = input;
  const dataPart: Part = {
    content: { $case: "data", value: data },
    metadata: undefined,
    filename: "",
    mediaType: "",
  };
  return requestOf(
    {
      messageId,
      contextId: reference.contextId ?? "",
      taskId: reference.taskId,
      parts: [...(text === undefined ? [] : [textPart(text)]), ...(data === undefined ? [] : [dataPart])],
      metadata: undefined,
    },
    returnImmediately,
  );
}

function requestOf(
  message: Pick<Message, "messageId" | "contextId" | "taskId" | "parts" | "metadata">,
  returnImmediately: boolean,
): SendMessageRequest {
  return {
    tenant: "",
    message: {
      ...message,
      role: Role.ROLE_USER,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      // The history would only repeat what is sent here.
      historyLength: 0,
      returnImmediately,
    },
    metadata: undefined,
  };
}

function textPart(value: string): Part {
  return { content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "text/plain" };
}

/** Text goes as text, which more agents understand than bytes. */
function inputPart(artifact: RemoteInputArtifact): Part {
  const { name, mimeType } = artifact;
  if ("url" in artifact) {
    const content: Part["content"] = { $case: "url", value: artifact.url };
    return { content, metadata: undefined, filename: name, mediaType: mimeType };
  }
  const { bytes } = artifact;
  const text = mimeType.startsWith("text/") ? utf8(bytes) : undefined;
  return {
    content:
      text === undefined ? { $case: "raw", value: Buffer.from(bytes) } : { $case: "text", value: text },
    metadata: undefined,
    filename: name,
    mediaType: mimeType,
  };
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
