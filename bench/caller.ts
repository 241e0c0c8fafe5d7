// A driver that stands for a parent whose model only calls tools: it tells where its MCP server is and keeps the run open, so that
// another process can make the calls. Its prompt is the number of tool calls that it announces.
import type { Driver } from "../dist/index.js";

/** Makes the driver. */
export function caller(): Driver {
  return {
    describe: () => ({
      name: "caller",
      capabilities: { resume: false, fork: false, approvals: false, mcpHttp: true, mcpStdio: false },
    }),
    async start({ prompt, mcpServers, signal }, sink) {
      const [server] = mcpServers;
      if (server?.transport !== "http") throw new Error("no MCP server");
      for (let index = 1; index <= Number(prompt); index++) {
        const toolCallId = `toolu_${index}`;
        sink.emit({
          type: "tool.start",
          toolCallId,
          name: "delegate_to_agent",
          server: server.name,
          tool: "delegate_to_agent",
        });
        sink.emit({ type: "tool.end", toolCallId });
      }
      sink.emit({
        type: "notice",
        level: "info",
        code: "bench",
        message: JSON.stringify({ url: server.url, headers: server.headers }),
      });
      if (!signal.aborted)
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return { status: "cancelled" };
    },
  };
}
