// A foreign MCP client in a process of its own. Takes one command a line, and answers each with one line of the same id.
import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

// What a library says on its own would be taken for an answer.
console.log = console.debug = console.info = () => undefined;

const [url, token, era, answer] = process.argv.slice(2);
const client = new Client(
  { name: "foreign-client", version: "1.0.0" },
  {
    ...(era === "modern" && { versionNegotiation: { mode: "auto" } }),
    ...(answer && { capabilities: { elicitation: { form: {} } } }),
  },
);
const calls = new Map();
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
if (answer) {
  client.setRequestHandler("elicitation/create", ({ params }) => {
    print({ form: params });
    return JSON.parse(answer);
  });
}
client.onerror = (error) => print({ trouble: error.message });

const commands = {
  async connect() {
    const headers = token === "" ? {} : { Authorization: `Bearer ${token}` };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    return { version: client.getNegotiatedProtocolVersion?.(), instructions: client.getInstructions() };
  },
  list: () => client.listTools(),
  call({ id, name = "delegate_to_agent", input, meta, timeout, progress }) {
    const abort = new AbortController();
    calls.set(id, abort);
    return client.callTool(
      { name, arguments: input, ...(meta && { _meta: meta }) },
      {
        signal: abort.signal,
        ...(timeout && { timeout }),
        ...(progress && { onprogress: (told) => print({ progress: told }) }),
      },
    );
  },
  async abort({ call }) {
    calls.get(call)?.abort("the person pressed escape");
    return {};
  },
};

createInterface({ input: process.stdin })
  .on("line", async (line) => {
    const command = JSON.parse(line);
    try {
      print({ id: command.id, result: await commands[command.do](command) });
    } catch (error) {
      print({ id: command.id, error: { name: error.name, code: error.code, message: error.message } });
    }
  })
  .on("close", () => process.exit(0));
