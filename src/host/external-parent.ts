import { MCP_INSTRUCTIONS } from "../bridges/mcp/delegation-service.js";
import type { ServeGuest } from "../bridges/mcp/guest-sessions.js";
import { type McpStreams, serveStreams } from "../bridges/mcp/stdio.js";
import { type Agent, createAgent } from "../core/agent.js";
import type { Clock } from "../core/clock.js";
import type { CreateId } from "../core/ids.js";
import type { DriverEvent } from "../core/run-event.js";
import { VERSION } from "../version.js";

/** What an external parent works with. */
export interface ExternalParentOptions {
  /** Its run has begun, and takes events. @returns when the run shall end, at the latest when `signal` aborts. */
  readonly began: (emit: (event: DriverEvent) => void, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly createId: CreateId;
}

/** A parent that this host does not drive: an MCP client. Its run holds the calls that it makes. */
export function externalParent({ began, clock, createId }: ExternalParentOptions): Agent {
  return createAgent(
    {
      describe: () => ({
        name: "mcp-client",
        capabilities: { resume: false, fork: false, approvals: false, mcpHttp: true, mcpStdio: false },
      }),
      async start({ signal }, sink) {
        await began((event) => sink.emit(event), signal);
        return { status: signal.aborted ? "cancelled" : "finished" };
      },
    },
    { clock, createId },
  );
}

/** Serves a client on a pair of streams. */
export function serveOnStreams(streams: McpStreams, clock: Clock): ServeGuest {
  return (toolset, signal) => {
    // What a client does wrong is its own matter: nobody here can do anything about it.
    const onError = () => undefined;
    const options = { clock, instructions: MCP_INSTRUCTIONS, version: VERSION, onError, signal };
    return serveStreams(toolset, streams, options);
  };
}
