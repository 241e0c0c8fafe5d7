import { type Message, type Part, Role, type SendMessageConfiguration } from "@a2a-js/sdk";
import {
  ContentTypeNotSupportedError,
  PushNotificationNotSupportedError,
  RequestMalformedError,
} from "@a2a-js/sdk/errors";

/** Characters of an identifier that a client makes. */
const MAX_ID = 256;
/** Characters of a prompt. */
const MAX_PROMPT = 2_000_000;
/** Output modes that we can give; `text` alone is what clients of older versions send. */
const OUTPUT_MODES = /^(?:\*|\*\/\*|text|text\/.+|data|application\/(?:json|\*|.+\+json))$/i;

/** Checks what a client sends, beyond its shape. @throws A2AError that says what is wrong. */
export function checkMessage(message: Message | undefined): Message {
  if (message === undefined) throw new RequestMalformedError("message is required.");
  if (!isId(message.messageId)) {
    throw new RequestMalformedError(
      `message.messageId: 1 to ${MAX_ID} characters, none of them a control character.`,
    );
  }
  if (message.role !== Role.ROLE_USER) throw new RequestMalformedError("message.role must be the user's.");
  if (message.parts.length === 0) throw new RequestMalformedError("message.parts must not be empty.");
  if (message.contextId !== "" && !isId(message.contextId)) {
    throw new RequestMalformedError(
      `message.contextId: at most ${MAX_ID} characters, none of them a control character.`,
    );
  }
  return message;
}

/** Checks what the SDK would stumble over, before it reads a request to send. @throws A2AError for a part that is no object. */
export function checkParts(request: unknown): void {
  const parts: unknown = Object(Object(request).message).parts;
  const isPart = (part: unknown) => typeof part === "object" && part !== null && !Array.isArray(part);
  if (Array.isArray(parts) && !parts.every(isPart))
    throw new RequestMalformedError("message.parts: each part must be an object.");
}

/** Checks how a client wants its answer. @throws A2AError when it cannot have it. */
export function checkConfiguration(configuration: SendMessageConfiguration | undefined): void {
  if (configuration === undefined) return;
  const { acceptedOutputModes: modes, taskPushNotificationConfig, historyLength } = configuration;
  if (taskPushNotificationConfig !== undefined) {
    throw new PushNotificationNotSupportedError("This agent sends no push notifications.");
  }
  checkHistoryLength(historyLength);
  if (modes.length > 0 && !modes.some((mode) => OUTPUT_MODES.test(mode.trim()))) {
    throw new ContentTypeNotSupportedError("This agent answers with text and JSON.");
  }
}

/** @throws A2AError for a negative length or a fraction. */
export function checkHistoryLength(length: number | undefined): void {
  if (length === undefined || (Number.isSafeInteger(length) && length >= 0)) return;
  throw new RequestMalformedError("historyLength must be a whole number, 0 or more.");
}

/**
 * What the agent is told: text as it is, data as JSON, text files with their names, references as they are.
 * @throws A2AError for files that are no text, which no agent here can be given.
 */
export function promptOf({ parts }: Message): string {
  const prompt = parts.map(words).join("\n\n");
  if (prompt.trim() === "") throw new RequestMalformedError("message.parts: there is nothing to answer.");
  if (prompt.length > MAX_PROMPT) throw new RequestMalformedError("message.parts: too long.");
  return prompt;
}

function words({ content, filename, mediaType }: Part): string {
  switch (content?.$case) {
    case "text":
      return content.value;
    case "data":
      return `\`\`\`json\n${JSON.stringify(content.value, undefined, 2) ?? "null"}\n\`\`\``;
    case "url":
      return filename === "" ? content.value : `${filename}: ${content.value}`;
    case "raw":
      return file(content.value, filename, mediaType);
    default:
      throw new RequestMalformedError("message.parts: each part needs text, data, raw or url.");
  }
}

function file(bytes: Uint8Array, filename: string, mediaType: string): string {
  const name = filename.replaceAll(/\p{Cc}/gu, " ");
  try {
    const isText =
      mediaType === "" || /^text\/|[/+](?:json|xml|yaml)$|javascript/i.test(mediaType.split(";")[0] ?? "");
    if (isText)
      return `${name === "" ? "File" : name}:\n${new TextDecoder("utf-8", { fatal: true }).decode(bytes)}`;
  } catch {
    // Not text, whatever it says.
  }
  throw new ContentTypeNotSupportedError("This agent takes text, JSON and text files.");
}

function isId(text: string): boolean {
  return text !== "" && text.length <= MAX_ID && isPlain(text);
}

/** Without control characters and halves of characters, which could be neither part of a name nor be stored. */
export function isPlain(text: string): boolean {
  return !/[\p{Cc}\p{Surrogate}]/u.test(text);
}
