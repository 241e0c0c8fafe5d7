import { SendMessageRequest as SendCodec, type SendMessageRequest, StreamResponse, Task } from "@a2a-js/sdk";
import { toLegacyHTTPError } from "@a2a-js/sdk/compat/v0_3/server";
import { RequestMalformedError } from "@a2a-js/sdk/errors";

/*
 * A2A 0.3 over HTTP. Its clients send the shapes of its protocol buffers as JSON (`message.content`, `ROLE_USER`), and some the
 * shapes of its JSON schema (`message.parts` with `kind`). Both are taken; answers are of the first kind.
 */

type Json = Readonly<Record<string, unknown>>;

/** A request to send of 0.3 as one of 1.0. @throws A2AError when there is no message. */
export function legacySendRequest(body: unknown): SendMessageRequest {
  const { message: named, request, configuration, metadata } = record(body);
  const message = record(named ?? request);
  const parts = list(message.content ?? message.parts).map(partFrom);
  const {
    blocking,
    acceptedOutputModes,
    accepted_output_modes: modes,
    historyLength,
    history_length: length,
    pushNotification,
    push_notification: push = pushNotification,
    pushNotificationConfig: config = push,
  } = record(configuration);
  const text = (value: unknown, other: unknown) => value ?? other;
  return SendCodec.fromJSON({
    message: {
      messageId: text(message.messageId, message.message_id),
      contextId: text(message.contextId, message.context_id),
      taskId: text(message.taskId, message.task_id),
      role: message.role === "user" ? "ROLE_USER" : message.role === "agent" ? "ROLE_AGENT" : message.role,
      parts,
      metadata: message.metadata,
    },
    ...(configuration === undefined
      ? {}
      : {
          configuration: {
            acceptedOutputModes: text(acceptedOutputModes, modes),
            historyLength: text(historyLength, length),
            returnImmediately: blocking === false,
            ...(config === undefined || config === null ? {} : { taskPushNotificationConfig: {} }),
          },
        }),
    metadata,
  });
}

/** A task in the JSON of 0.3. */
export function legacyTask(task: Task): unknown {
  return taskTo(record(Task.toJSON(task)));
}

/** An answer or an event in the JSON of 0.3. */
export function legacyReply(reply: StreamResponse): unknown {
  const { task, message, statusUpdate, artifactUpdate } = record(StreamResponse.toJSON(reply));
  if (task !== undefined) return { task: taskTo(record(task)) };
  if (message !== undefined) return { message: messageTo(record(message)) };
  if (statusUpdate !== undefined) {
    const status = statusTo(record(record(statusUpdate).status));
    return {
      statusUpdate: {
        ...record(statusUpdate),
        status,
        final: !/WORKING|SUBMITTED/.test(String(status.state)),
      },
    };
  }
  const update = record(artifactUpdate);
  return { artifactUpdate: { ...update, artifact: artifactTo(record(update.artifact)) } };
}

/** An error in the JSON of 0.3. */
export function legacyErrorBody(error: unknown): unknown {
  return toLegacyHTTPError(error);
}

function partFrom(value: unknown): Json {
  const { kind, text, file, data, metadata } = record(value);
  const more = metadata === undefined ? {} : { metadata };
  if (typeof text === "string") return { text, ...more };
  if (file !== undefined) {
    const {
      fileWithBytes,
      fileWithUri,
      bytes = fileWithBytes,
      uri = fileWithUri,
      mimeType,
      name,
    } = record(file);
    const {
      file_with_bytes: rawBytes = bytes,
      file_with_uri: rawUri = uri,
      mime_type: type = mimeType,
    } = record(file);
    const named = { mediaType: type ?? "", filename: name ?? "", ...more };
    return typeof rawBytes === "string"
      ? { raw: rawBytes, ...named }
      : { url: String(rawUri ?? ""), ...named };
  }
  if (data === undefined) throw new RequestMalformedError("message: each part needs text, a file or data.");
  // The protocol buffers wrap it once more.
  const inner = record(data);
  return { data: kind === undefined && "data" in inner ? inner.data : data, ...more };
}

function taskTo(task: Json): Json {
  const { status, artifacts, history, ...rest } = task;
  return {
    ...rest,
    status: statusTo(record(status)),
    ...(artifacts === undefined
      ? {}
      : { artifacts: list(artifacts).map((artifact) => artifactTo(record(artifact))) }),
    ...(history === undefined ? {} : { history: list(history).map((message) => messageTo(record(message))) }),
  };
}

function statusTo({ state, message, ...rest }: Json): Json {
  return {
    ...rest,
    state: state === "TASK_STATE_CANCELED" ? "TASK_STATE_CANCELLED" : state,
    ...(message === undefined ? {} : { message: messageTo(record(message)) }),
  };
}

function messageTo({ parts, referenceTaskIds: _none, ...rest }: Json): Json {
  return { ...rest, content: list(parts).map((part) => partTo(record(part))) };
}

function artifactTo({ parts, ...rest }: Json): Json {
  return { ...rest, parts: list(parts).map((part) => partTo(record(part))) };
}

function partTo({ text, raw, url, data, mediaType, filename, metadata }: Json): Json {
  const more = metadata === undefined ? {} : { metadata };
  if (text !== undefined) return { text, ...more };
  const named = {
    ...(mediaType === undefined ? {} : { mimeType: mediaType }),
    ...(filename === undefined ? {} : { name: filename }),
  };
  if (raw !== undefined) return { file: { fileWithBytes: raw, ...named }, ...more };
  if (url !== undefined) return { file: { fileWithUri: url, ...named }, ...more };
  return { data: { data }, ...more };
}

function record(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
