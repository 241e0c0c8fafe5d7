// @ag-ui/a2a: an A2A agent as an AG-UI agent, with the A2A SDK 0.2.5 inside. Arguments: the agent's address, the text.
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { A2AAgent } from "@ag-ui/a2a";

const inner = createRequire(realpathSync(new URL("./node_modules/@ag-ui/a2a/package.json", import.meta.url)));
const { A2AClient } = inner("@a2a-js/sdk/client");
const [base, content] = process.argv.slice(2);
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const agent = new A2AAgent({
  a2aClient: new A2AClient(base),
  initialMessages: [{ id: "u1", role: "user", content }],
});
await agent.runAgent({}, { onEvent: ({ event }) => print({ type: event.type, text: event.delta }) });
process.exit(0);
