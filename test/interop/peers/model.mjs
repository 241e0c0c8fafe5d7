// A model that says what the last user text tells it to, behind OpenAI's chat completions and Gemini's generateContent.
//   #tool NAME {json}   calls the tool, then repeats its result      #long N MS   N pieces, MS apart
//   #error STATUS       answers with that status
import { createServer } from "node:http";

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function plan(text, results) {
  if (results.length > 0) return { pieces: ["The tool said: ", results.join(" / "), "."], pace: 10 };
  const tool = /#tool (\S+) (\{.*?\})\s*(?:$|\n)/s.exec(text);
  if (tool)
    return { pieces: ["I will use a tool. "], call: { name: tool[1], args: JSON.parse(tool[2]) }, pace: 10 };
  const long = /#long (\d+) (\d+)/.exec(text);
  if (long) {
    const pieces = Array.from({ length: Number(long[1]) }, (_, index) => `piece ${index + 1} `);
    return { pieces, pace: Number(long[2]) };
  }
  return { pieces: ["Hello ", "from ", "the model."], pace: 10 };
}

const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join(" ");

let calls = 0;
const server = createServer(async (request, response) => {
  let raw = "";
  for await (const bytes of request) raw += bytes;
  const body = raw === "" ? {} : JSON.parse(raw);
  const id = ++calls;
  const open = () => response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (data) => response.write(`data: ${JSON.stringify(data)}\n\n`);
  if (/generateContent/i.test(request.url)) {
    const contents = body.contents ?? [];
    const results = (contents.at(-1)?.parts ?? []).flatMap((part) =>
      part.functionResponse ? [JSON.stringify(part.functionResponse.response)] : [],
    );
    const last = contents
      .filter(({ role, parts }) => role === "user" && parts?.some((part) => part.text))
      .at(-1);
    const { pieces, call, pace } = plan(textOf(last?.parts), results);
    const part = (parts, finishReason) => ({
      candidates: [{ index: 0, content: { role: "model", parts }, ...(finishReason && { finishReason }) }],
    });
    const tool = call ? [{ functionCall: call }] : [];
    if (!/stream/i.test(request.url)) {
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify(part([{ text: pieces.join("") }, ...tool], "STOP")));
    }
    open();
    for (const piece of pieces) {
      await sleep(pace);
      send(part([{ text: piece }]));
    }
    if (call) send(part(tool));
    send(part([{ text: "" }], "STOP"));
    return response.end();
  }
  const messages = body.messages ?? [];
  const results = [];
  for (let at = messages.length - 1; messages[at]?.role === "tool"; at--)
    results.unshift(textOf(messages[at].content));
  const user = messages.filter(({ role }) => role === "user").at(-1);
  const failure = /#error (\d{3})/.exec(textOf(user?.content))?.[1];
  if (failure !== undefined) {
    response.writeHead(Number(failure), { "content-type": "application/json" });
    return response.end('{"error":{"message":"scripted model error"}}');
  }
  const { pieces, call, pace } = plan(textOf(user?.content), results);
  const tool_calls = call && [
    {
      index: 0,
      id: `call_${id}`,
      type: "function",
      function: { name: call.name, arguments: JSON.stringify(call.args) },
    },
  ];
  const base = { id: `chat-${id}`, created: 0, model: body.model };
  const finish_reason = call ? "tool_calls" : "stop";
  if (!body.stream) {
    const message = { role: "assistant", content: pieces.join(""), ...(tool_calls && { tool_calls }) };
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(
      JSON.stringify({ ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason }] }),
    );
  }
  open();
  const chunk = (delta, reason = null) =>
    send({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }] });
  chunk({ role: "assistant", content: "" });
  for (const piece of pieces) {
    await sleep(pace);
    chunk({ content: piece });
  }
  if (tool_calls) chunk({ tool_calls });
  chunk({}, finish_reason);
  response.end("data: [DONE]\n\n");
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume().on("end", () => process.exit(0));
