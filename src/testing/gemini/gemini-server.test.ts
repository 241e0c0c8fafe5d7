import { afterEach, expect, test } from "vitest";
import { type GeminiServer, startGeminiServer } from "./gemini-server.js";
import { type GeminiScript, readGeminiConversation } from "./script.js";

let server: GeminiServer | undefined;

afterEach(() => server?.close());

async function post(script?: GeminiScript, body: object = {}, signal?: AbortSignal): Promise<Response> {
  if (script) server = await startGeminiServer({ script });
  return fetch(`${server?.url}/v1beta/models/m:streamGenerateContent?alt=sse`, {
    method: "POST",
    headers: { "x-goog-api-key": "s3cret", "x-own": "1" },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

interface Chunk {
  readonly candidates: readonly [{ content: { parts: Record<string, unknown>[] }; finishReason?: string }];
}

const chunksOf = async (response: Response) =>
  (await response.text())
    .trim()
    .split("\r\n\r\n")
    .map((frame) => JSON.parse(frame.slice("data: ".length)) as Chunk);

test("streams parts as the API does; calls come together at the end", async () => {
  const chunks = await chunksOf(
    await post([
      {
        content: [
          { type: "thought", text: "Hm" },
          { type: "text", text: "Hello 👩‍👩‍👧, how are you?" },
          { type: "function_call", name: "look", args: { at: 1 } },
          { type: "function_call", name: "look", id: "two", args: {} },
        ],
      },
    ]),
  );
  const parts = chunks.flatMap(({ candidates: [{ content }] }) => content.parts);
  expect(parts[0]).toEqual({ text: "Hm", thought: true });
  const text = parts.slice(1).flatMap(({ text: piece }) => (typeof piece === "string" ? [piece] : []));
  expect(text.join("")).toBe("Hello 👩‍👩‍👧, how are you?");
  expect(text.length).toBeGreaterThan(1);
  expect(chunks.at(-1)?.candidates[0]).toMatchObject({
    finishReason: "STOP",
    content: {
      parts: [
        { functionCall: { id: "call_1", name: "look", args: { at: 1 } } },
        { functionCall: { id: "two" } },
      ],
    },
  });
});

test("fails in each way that the script says, and then says that it is done", async () => {
  const content = [{ type: "text" as const, text: "Half" }];
  const refused = await post([
    { error: { status: 429, code: "RESOURCE_EXHAUSTED", message: "slow down" } },
    { content, cut: true },
    { content, stall: true },
  ]);
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ error: { status: "RESOURCE_EXHAUSTED" } });
  await expect(post().then((response) => response.text())).rejects.toThrow();
  const abort = new AbortController();
  const stalled = await post(undefined, {}, abort.signal);
  await stalled.body?.getReader().read();
  abort.abort();
  await expect.poll(() => server?.requests.at(-1)?.aborted).toBe(true);
  expect(JSON.stringify(await chunksOf(await post()))).toContain('"Done."');
});

test("records what the model was shown, without credentials", async () => {
  const contents = [
    { role: "user", parts: [{ text: "Please look." }] },
    { role: "model", parts: [{ functionCall: { id: "a", name: "look", args: {} } }] },
    {
      role: "user",
      parts: [
        { functionResponse: { id: "a", name: "look", response: { output: "seen" } } },
        { functionResponse: { id: "b", name: "look", response: { error: "no" } } },
      ],
    },
  ];
  const tools = [{ functionDeclarations: [{ name: "look" }, { name: "find" }] }, { googleSearch: {} }];
  await post([], { contents, tools });
  const [request] = server?.requests ?? [];
  expect(request?.headers).toMatchObject({ "x-own": "1" });
  expect(JSON.stringify(request?.headers)).not.toContain("s3cret");
  expect(request?.conversation).toMatchObject({
    prompt: "Please look.",
    responses: [
      { id: "a", text: "seen" },
      { id: "b", text: "no" },
    ],
    replies: 1,
    tools: ["look", "find"],
  });
  expect(readGeminiConversation("nonsense")).toMatchObject({ prompt: "", responses: [], tools: [] });
});
