import { Role, TaskState } from "@a2a-js/sdk";
import { describe, expect, it } from "vitest";
import { legacyReply, legacySendRequest, legacyTask } from "./legacy-rest.js";
import { agentMessage, artifactOf, dataPart, textPart } from "./parts.js";

const identity = { taskId: "t", contextId: "c" };

describe("requests of 0.3", () => {
  it.each([
    [
      "protocol buffers",
      {
        message: {
          messageId: "m",
          role: "ROLE_USER",
          content: [
            { text: "Hi" },
            { data: { data: { a: 1 } } },
            { file: { fileWithBytes: "aGk=", mimeType: "text/plain", name: "a.txt" } },
            { file: { file_with_uri: "https://x.example/b", mime_type: "text/plain" } },
          ],
        },
        configuration: { blocking: true, acceptedOutputModes: ["text"], historyLength: 2 },
      },
    ],
    [
      "JSON schema",
      {
        message: {
          messageId: "m",
          role: "user",
          parts: [
            { kind: "text", text: "Hi" },
            { kind: "data", data: { a: 1 } },
            { kind: "file", file: { bytes: "aGk=", mimeType: "text/plain", name: "a.txt" } },
            { kind: "file", file: { uri: "https://x.example/b", mimeType: "text/plain" } },
          ],
        },
        configuration: { blocking: true, accepted_output_modes: ["text"], history_length: 2 },
      },
    ],
  ])("in the shape of %s", (_name, body) => {
    const request = legacySendRequest(body);
    expect(request.message).toMatchObject({ messageId: "m", role: Role.ROLE_USER });
    expect(request.message?.parts.map(({ content, filename }) => [content?.$case, filename])).toEqual([
      ["text", ""],
      ["data", ""],
      ["raw", "a.txt"],
      ["url", ""],
    ]);
    expect(request.message?.parts[1]?.content).toEqual({ $case: "data", value: { a: 1 } });
    expect(request.configuration).toMatchObject({
      returnImmediately: false,
      acceptedOutputModes: ["text"],
      historyLength: 2,
    });
  });

  it("that want no waiting or push notifications say so", () => {
    const message = { messageId: "m", role: "user", parts: [{ text: "Hi" }] };
    const { configuration } = legacySendRequest({
      message,
      configuration: { blocking: false, pushNotification: { url: "http://x" } },
    });
    expect(configuration).toMatchObject({ returnImmediately: true });
    expect(configuration?.taskPushNotificationConfig).toBeDefined();
    expect(legacySendRequest({ message }).configuration).toBeUndefined();
  });

  it.each([{ message: { parts: [{}] } }, { message: { parts: [null] } }])("%j are refused", (body) => {
    expect(() => legacySendRequest(body)).toThrow("each part");
  });
});

describe("answers of 0.3", () => {
  const status = (state: TaskState) => ({
    state,
    message: agentMessage("m", identity, [textPart("over")]),
    timestamp: "2026-01-01T00:00:00.000Z",
  });

  it("have its names of states and members", () => {
    expect(
      legacyTask({
        id: "t",
        contextId: "c",
        status: status(TaskState.TASK_STATE_CANCELED),
        artifacts: [artifactOf("a", "a", [dataPart({ b: 1 })])],
        history: [],
        metadata: undefined,
      }),
    ).toMatchObject({
      status: { state: "TASK_STATE_CANCELLED", message: { role: "ROLE_AGENT", content: [{ text: "over" }] } },
      artifacts: [{ parts: [{ data: { data: { b: 1 } } }] }],
    });
  });

  it.each([
    [TaskState.TASK_STATE_WORKING, false],
    [TaskState.TASK_STATE_INPUT_REQUIRED, true],
    [TaskState.TASK_STATE_COMPLETED, true],
  ])("say whether the stream ends (state %i: %j)", (state, final) => {
    const value = { ...identity, status: status(state), metadata: undefined };
    expect(legacyReply({ payload: { $case: "statusUpdate", value } })).toMatchObject({
      statusUpdate: { final },
    });
  });
});
