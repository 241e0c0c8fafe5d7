// An AG-UI client as others use it, in a process of its own: prints what it is told, one event a line.
import { HttpAgent } from "@ag-ui/client";

const [url, threadId, runId, content] = process.argv.slice(2);
const agent = new HttpAgent({ url, threadId, initialMessages: [{ id: "user-1", role: "user", content }] });
const print = (line) => console.log(JSON.stringify(line));
await agent.runAgent({ runId }, { onEvent: ({ event }) => print({ event }) });
print({ messages: agent.messages });
