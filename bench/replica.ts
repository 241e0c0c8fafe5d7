// A host on Redis whose one agent says words. Arguments: the server's URL.
import { createAgent, createHost } from "../dist/index.js";
import { createRedisStorage } from "../dist/redis.js";
import { WORDS } from "./hosts.js";

const { journal, artifacts } = await createRedisStorage({ url: process.argv[2] ?? "" });
const agent = createAgent({
  describe: () => ({
    name: "talker",
    capabilities: { resume: false, fork: false, approvals: false, mcpHttp: false, mcpStdio: false },
  }),
  async start(_request, sink) {
    sink.emit({ type: "text.start", messageId: "m" });
    for (let index = 0; index < WORDS; index++) {
      sink.emit({ type: "text.delta", messageId: "m", delta: `word ${index} ` });
      // As a program's output comes: not all in one turn of the event loop.
      if (index % 20 === 19) await new Promise((resolve) => setImmediate(resolve));
    }
    sink.emit({ type: "text.end", messageId: "m" });
    return { status: "finished" };
  },
});
const host = await createHost({ agents: { talker: agent }, journal, artifacts });
process.send?.({ url: (await host.listen({ port: 0 })).url });
process.on("disconnect", () => process.exit());
