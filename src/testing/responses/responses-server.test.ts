import { afterEach, expect, test } from "vitest";
import { type ResponsesServer, startResponsesServer } from "./responses-server.js";
import { type ResponsesScript, readResponsesConversation } from "./script.js";

let server: ResponsesServer | undefined;

afterEach(() => server?.close());

async function post(script?: ResponsesScript, body: object = {}, signal?: AbortSignal): Promise<Response> {
  if (script) server = await startResponsesServer({ script });
  return fetch(`${server?.url}/responses`, {
    method: "POST",
    headers: { authorization: "Bearer s3cret", "x-own": "1" },
    body: JSON.stringify({ model: "m", stream: true, ...body }),
    ...(signal === undefined ? {} : { signal }),
  });
}

const events = async (response: Response) =>
  (await response.text())
    .trim()
    .split("\n\n")
    .map((frame) => JSON.parse(frame.split("\ndata: ")[1] ?? "") as Record<string, unknown>);

const message = (role: string, text: string) => ({
  type: "message",
  role,
  content: [{ type: "input_text", text }],
});

test("streams items as the API does", async () => {
  const all = await events(
    await post([
      {
        content: [
          { type: "reasoning", text: "Hm" },
          { type: "text", text: "Hello 👩‍👩‍👧, how are you?" },
          { type: "function_call", name: "look", namespace: "mcp__s", arguments: { at: 1 } },
          { type: "custom_tool_call", name: "exec", callId: "call_x", input: "text(1)" },
        ],
      },
    ]),
  );
  expect(all.map(({ sequence_number: number }) => number)).toEqual(all.map((_, index) => index));
  const items = all.flatMap((event) => (event.type === "response.output_item.done" ? [event.item] : []));
  expect(items).toMatchObject([
    { type: "reasoning", summary: [{ text: "Hm" }] },
    { type: "message", content: [{ text: "Hello 👩‍👩‍👧, how are you?" }] },
    {
      type: "function_call",
      call_id: "call_scripted_1",
      name: "look",
      namespace: "mcp__s",
      arguments: '{"at":1}',
    },
    { type: "custom_tool_call", call_id: "call_x", input: "text(1)" },
  ]);
  const deltas = all.flatMap((event) =>
    event.type === "response.output_text.delta" ? [String(event.delta)] : [],
  );
  expect(deltas.join("")).toBe("Hello 👩‍👩‍👧, how are you?");
  expect(deltas.length).toBeGreaterThan(1);
  expect(all.at(-1)).toMatchObject({ type: "response.completed", response: { usage: { total_tokens: 15 } } });
});

test("fails in each way that the script says", async () => {
  const content = [{ type: "text" as const, text: "Half" }];
  const refused = await post([
    { error: { status: 429, code: "rate_limit", message: "slow down" } },
    { failed: { code: "server_error", message: "no" } },
    { content, cut: true },
    { content, stall: true },
  ]);
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ error: { code: "rate_limit", message: "slow down" } });
  expect((await events(await post())).at(-1)).toMatchObject({
    type: "response.failed",
    response: { error: { message: "no" } },
  });
  await expect(post().then((response) => response.text())).rejects.toThrow();
  const abort = new AbortController();
  const stalled = await post(undefined, {}, abort.signal);
  const reader = stalled.body?.getReader();
  await reader?.read();
  abort.abort();
  await expect.poll(() => server?.requests.at(-1)?.aborted).toBe(true);
  // The script has run out.
  expect(JSON.stringify(await events(await post()))).toContain('"Done."');
});

test("a pause lasts until the test ends it", async () => {
  let resume: () => void = () => {};
  const until = new Promise<void>((resolve) => {
    resume = resolve;
  });
  const response = await post([
    {
      content: [
        { type: "text", text: "Before" },
        { type: "pause", until },
        { type: "text", text: "After" },
      ],
    },
  ]);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  while (!seen.includes("Before")) seen += (await reader?.read())?.value ?? "";
  expect(seen).not.toContain("After");
  resume();
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read())
    seen += piece.value;
  expect(seen).toContain("After");
});

test("records what the model was shown, without credentials", async () => {
  const input = [
    message("user", "Please look."),
    { type: "function_call", call_id: "call_a", name: "look", arguments: "{}" },
    { type: "function_call_output", call_id: "call_a", output: "seen" },
    { type: "custom_tool_call_output", call_id: "call_b", output: [{ type: "input_text", text: "done" }] },
  ];
  const tools = [
    { type: "function", name: "exec_command" },
    { type: "namespace", name: "mcp__s", tools: [{ type: "function", name: "look" }] },
    { type: "web_search" },
  ];
  await post((conversation) => ({ content: [{ type: "text", text: conversation.prompt }] }), {
    input,
    tools,
  });
  await server?.received(1);
  const [request] = server?.requests ?? [];
  expect(request?.headers).toMatchObject({ "x-own": "1" });
  expect(JSON.stringify(request?.headers)).not.toContain("s3cret");
  expect(request?.conversation).toMatchObject({
    prompt: "Please look.",
    toolOutputs: [
      { callId: "call_a", text: "seen" },
      { callId: "call_b", text: "done" },
    ],
    replies: 1,
    tools: ["exec_command", "mcp__s.look", "web_search"],
  });
  expect(readResponsesConversation("nonsense")).toMatchObject({ prompt: "", toolOutputs: [], tools: [] });
});
