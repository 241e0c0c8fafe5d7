import { MCP_INSTRUCTIONS } from "../bridges/mcp/delegation-service.js";
import { ObservedToolset } from "../bridges/mcp/observed-toolset.js";
import { type McpStreams, serveStreams } from "../bridges/mcp/stdio.js";
import type { McpToolset } from "../bridges/mcp/tool.js";
import { type Agent, createAgent } from "../core/agent.js";
import type { Clock } from "../core/clock.js";
import type { CreateId } from "../core/ids.js";
import { VERSION } from "../version.js";

/** What an external parent works with. */
export interface ExternalParentOptions {
  readonly streams: McpStreams;
  /** The tools of a run that goes on. */
  readonly toolsetOf: (runId: string) => McpToolset | undefined;
  readonly clock: Clock;
  readonly createId: CreateId;
}

/**
 * A parent that this host does not drive: an MCP client on a pair of streams. Its run lasts as long as it is connected, and holds
 * the calls that it makes.
 */
export function externalParent({ streams, toolsetOf, clock, createId }: ExternalParentOptions): Agent {
  return createAgent(
    {
      describe: () => ({
        name: "mcp-client",
        capabilities: { resume: false, fork: false, approvals: false, mcpHttp: true, mcpStdio: false },
      }),
      async start({ runId, signal }, sink) {
        const toolset = toolsetOf(runId);
        if (toolset !== undefined) {
          const observed = new ObservedToolset(toolset, (event) => sink.emit(event), createId);
          const onError = (error: Error) => sink.raw("stderr", `${error.message}\n`);
          const options = { clock, instructions: MCP_INSTRUCTIONS, version: VERSION, onError, signal };
          await serveStreams(observed, streams, options);
        }
        return { status: signal.aborted ? "cancelled" : "finished" };
      },
    },
    { clock, createId },
  );
}
