// A Troupe host that shows an agent to A2A clients. The agent is a driver that says numbered words, as many as its prompt says, in
// bursts like a model's.
import { setImmediate as turn } from "node:timers/promises";
import { createAgent, createHost, type Driver } from "../dist/index.js";

const speaker: Driver = {
  describe: () => ({
    name: "speaker",
    capabilities: { resume: false, fork: false, approvals: false, mcpHttp: true, mcpStdio: false },
  }),
  async start({ prompt }, sink) {
    sink.emit({ type: "text.start", messageId: "m" });
    for (let index = 0; index < Number(prompt); index++) {
      sink.emit({ type: "text.delta", messageId: "m", delta: `word ${index} ` });
      if (index % 10 === 9) await turn();
    }
    sink.emit({ type: "text.end", messageId: "m" });
    return { status: "finished", text: "done" };
  },
};

const host = await createHost({
  agents: { speaker: createAgent(speaker) },
  a2a: { agents: { speaker: true } },
});
const { url } = await host.listen({ port: 0 });
process.send?.({ url: `${url}/a2a/speaker` });
process.on("disconnect", () => process.exit());
