import { afterEach, expect, test } from "vitest";
import { type MessagesServer, startMessagesServer } from "./messages-server.js";
import type { MessagesScript } from "./script.js";

let server: MessagesServer | undefined;

afterEach(() => server?.close());

async function post(body: object, script?: MessagesScript): Promise<Response> {
  if (script) server = await startMessagesServer({ script });
  return fetch(`${server?.url}/v1/messages?beta=true`, {
    method: "POST",
    headers: { "x-api-key": "s3cret", "x-own": "1" },
    body: JSON.stringify({ model: "m", stream: true, ...body }),
  });
}

const events = async (response: Response) =>
  (await response.text())
    .trim()
    .split("\n\n")
    .map((frame) => JSON.parse(frame.split("\ndata: ")[1] ?? "") as Record<string, unknown>);
const user = (content: unknown) => ({ messages: [{ role: "user", content }] });

test("streams blocks as the API does", async () => {
  const input = { path: "a file with a long name" };
  const response = await post(user("Hi"), [
    {
      content: [
        { type: "thinking", thinking: "Hm" },
        { type: "text", text: "Hello 👩‍👩‍👧, how are you?" },
        { type: "tool_use", name: "Read", input },
      ],
    },
  ]);
  const all = await events(response);
  expect(all.map((event) => event.type).filter((type, index, types) => type !== types[index - 1])).toEqual([
    ...["message_start", "ping"],
    ...["content_block_start", "content_block_delta", "content_block_stop"],
    ...["content_block_start", "content_block_delta", "content_block_stop"],
    ...["content_block_start", "content_block_delta", "content_block_stop"],
    ...["message_delta", "message_stop"],
  ]);
  const deltas = all.flatMap((event) =>
    event.type === "content_block_delta" ? [event.delta as Record<string, string>] : [],
  );
  expect(deltas.map((delta) => delta.text ?? "").join("")).toBe("Hello 👩‍👩‍👧, how are you?");
  expect(JSON.parse(deltas.map((delta) => delta.partial_json ?? "").join(""))).toEqual(input);
  expect(deltas.find((delta) => delta.type === "input_json_delta")?.partial_json).toBe("");
  expect(all.at(-2)).toMatchObject({ delta: { stop_reason: "tool_use" } });
});

test("answers without streaming when it is asked so, and with errors when the script says so", async () => {
  const script: MessagesScript = [
    { content: [{ type: "text", text: "Whole" }] },
    { error: { status: 529, type: "overloaded_error", message: "busy" } },
  ];
  expect(await (await post({ ...user("Hi"), stream: false }, script)).json()).toMatchObject({
    content: [{ type: "text", text: "Whole" }],
    stop_reason: "end_turn",
  });
  const failed = await post(user("Hi"));
  expect([failed.status, await failed.json()]).toEqual([
    529,
    { type: "error", error: { type: "overloaded_error", message: "busy" } },
  ]);
  expect(await (await post(user("Hi"))).text()).toContain("Done.");
});

test("tells what the model saw, without credentials", async () => {
  const script: MessagesScript = ({ prompt, toolResults }) => ({
    content: [{ type: "text", text: `${prompt}|${toolResults.map((result) => result.text).join()}` }],
  });
  const messages = [
    { role: "user", content: "Ask" },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "x", input: {} }] },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t1", is_error: true, content: [{ type: "text", text: "bad" }] },
      ],
    },
    { role: "system", content: "a reminder behind the last message" },
  ];
  const body = await (
    await post(
      { messages, tools: [{ name: "x" }], system: [{ type: "text", text: "Be good" }], stream: false },
      script,
    )
  ).text();
  expect(body).toContain("Ask|bad");
  expect(server?.requests[0]?.conversation).toMatchObject({
    prompt: "Ask",
    toolResults: [{ toolUseId: "t1", text: "bad", isError: true }],
    replies: 1,
    tools: ["x"],
    system: "Be good",
  });
  expect(server?.requests[0]?.headers).toMatchObject({ "x-own": "1" });
  expect(JSON.stringify(server?.requests)).not.toContain("s3cret");
});

test("a hanging answer and a stalled stream end when the server is closed", async () => {
  const hanging = post(user("Hi"), [
    { content: [{ type: "text", text: "Half" }], stall: true },
    { hang: true },
  ]);
  const reader = (await hanging).body?.getReader();
  await reader?.read();
  const second = post(user("Hi"));
  await server?.received(2);
  await server?.close();
  server = undefined;
  await expect(second).rejects.toThrow();
  const rest = async () => {
    while (!(await reader?.read())?.done);
  };
  await expect(rest()).rejects.toThrow();
});

test("answers nothing but the one route", async () => {
  server = await startMessagesServer({ script: [] });
  expect((await fetch(`${server.url}/v1/models`)).status).toBe(404);
  expect((await fetch(`${server.url}/api/hello`, { method: "HEAD" })).status).toBe(200);
  expect(server.requests).toEqual([]);
});
