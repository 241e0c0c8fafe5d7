import { type Part, Role, type SendMessageRequest } from "@a2a-js/sdk";
import type { RemoteInputArtifact, RemoteTask } from "../../delegation/remote.js";

/** The request that starts `task`. The tenant is the interface's; the client adds it. */
export function sendRequest(task: RemoteTask): SendMessageRequest {
  return {
    tenant: "",
    message: {
      messageId: task.messageId,
      contextId: task.contextId ?? "",
      // Only the agent makes task ids.
      taskId: "",
      role: Role.ROLE_USER,
      parts: [
        {
          content: { $case: "text", value: task.text },
          metadata: undefined,
          filename: "",
          mediaType: "text/plain",
        },
        ...task.artifacts.map(inputPart),
      ],
      metadata: { ...task.metadata },
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      // The history would only repeat what is sent here.
      historyLength: 0,
      returnImmediately: false,
    },
    metadata: undefined,
  };
}

/** Text goes as text, which more agents understand than bytes. */
function inputPart({ name, mimeType, bytes }: RemoteInputArtifact): Part {
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
