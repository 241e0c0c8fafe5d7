// An AG-UI server that does what the lines of a task say, as the scripted A2A agent does. It prints its address.
import { createServer } from "node:http";
import { parseScript } from "../../dist/testing/a2a/script.js";

const server = createServer(async (request, response) => {
  let body = "";
  for await (const bytes of request) body += bytes;
  const { threadId, runId, messages, resume } = JSON.parse(body);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (event) => response.write(`data: ${JSON.stringify(event)}\n\n`);
  const say = (messageId, delta) => send({ type: "TEXT_MESSAGE_CONTENT", messageId, delta });
  send({ type: "RUN_STARTED", threadId, runId });
  const finish = (more = {}) => {
    send({ type: "RUN_FINISHED", threadId, runId, ...more });
    response.end();
  };
  if (resume !== undefined) {
    say("text", `You answered: ${resume[0].payload}`);
    return finish();
  }
  let open = false;
  for (const step of parseScript(messages.at(-1).content).steps) {
    if (step.do === "say") {
      if (!open) send({ type: "TEXT_MESSAGE_START", messageId: "text", role: "assistant" });
      open = true;
      say("text", step.text);
    }
    if (step.do === "status") send({ type: "CUSTOM", name: "status", value: step.text });
    if (step.do === "input")
      return finish({ outcome: { type: "interrupt", interrupts: [{ id: "i", message: step.text }] } });
    if (step.do === "message") say("text", step.text);
    if (step.do === "end" && step.state !== "completed") {
      send({ type: "RUN_ERROR", message: step.text, code: step.state });
      return response.end();
    }
  }
  if (open) send({ type: "TEXT_MESSAGE_END", messageId: "text" });
  return finish();
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/agent`));
process.stdin.on("end", () => process.exit()).resume();
