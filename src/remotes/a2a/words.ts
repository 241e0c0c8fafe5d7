import { type Message, type Part, Role, TaskState } from "@a2a-js/sdk";
import { capText } from "../http/words.js";

const WORDS: ReadonlyMap<TaskState, string> = new Map([
  [TaskState.TASK_STATE_SUBMITTED, "submitted"],
  [TaskState.TASK_STATE_WORKING, "working"],
  [TaskState.TASK_STATE_COMPLETED, "completed"],
  [TaskState.TASK_STATE_FAILED, "failed"],
  [TaskState.TASK_STATE_CANCELED, "canceled"],
  [TaskState.TASK_STATE_REJECTED, "rejected"],
  [TaskState.TASK_STATE_INPUT_REQUIRED, "input-required"],
  [TaskState.TASK_STATE_AUTH_REQUIRED, "auth-required"],
]);

/** The protocol's word for a state. States that we do not know are `unknown`, and never final. */
export function stateWord(state: TaskState | undefined): string {
  return (state === undefined ? undefined : WORDS.get(state)) ?? "unknown";
}

/** Whether a task in `state` can never change again. */
export function isFinal(state: TaskState | undefined): boolean {
  return (
    state === TaskState.TASK_STATE_COMPLETED ||
    state === TaskState.TASK_STATE_FAILED ||
    state === TaskState.TASK_STATE_CANCELED ||
    state === TaskState.TASK_STATE_REJECTED
  );
}

/** The text of a message of the agent's, at most `limit` characters; `undefined` when there is none or the user said it. */
export function spokenText(message: Message | undefined, limit: number): string | undefined {
  if (message === undefined || message.role === Role.ROLE_USER) return undefined;
  const text = message.parts
    .flatMap((part) => (part.content?.$case === "text" ? [part.content.value] : []))
    .join("\n");
  return text.trim() === "" ? undefined : capText(text, limit);
}

/** The bytes of a part and what they are. URLs are named, never fetched. */
export function partBytes(part: Part): { readonly bytes: Uint8Array; readonly mimeType: string } | undefined {
  const encode = (text: string) => new TextEncoder().encode(text);
  switch (part.content?.$case) {
    case "text":
      return { bytes: encode(part.content.value), mimeType: part.mediaType || "text/plain" };
    case "raw":
      return { bytes: part.content.value, mimeType: part.mediaType || "application/octet-stream" };
    case "data":
      return {
        bytes: encode(JSON.stringify(part.content.value) ?? "null"),
        mimeType: part.mediaType || "application/json",
      };
    case "url":
      return { bytes: encode(`${part.content.value}\r\n`), mimeType: "text/uri-list" };
    default:
      return undefined;
  }
}
