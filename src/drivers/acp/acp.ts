import { defined } from "../../core/defined.js";
import type { Driver, DriverOutcome, DriverRequest, DriverSink } from "../../core/driver.js";
import { TroupeError } from "../../core/errors.js";
import { AcpRun } from "./acp-run.js";
import type { AcpOptions } from "./options.js";

/**
 * Drives any program that speaks the Agent Client Protocol (version 1) on its standard streams: one process a run. MCP servers and
 * their credentials go to it in the request that opens the session, or stay in the host where a bridge is needed.
 */
export function acp(options: AcpOptions): Driver {
  const { name = "acp", environment, resume = true } = options;
  return {
    describe: () => ({
      name,
      ...defined({ environment }),
      capabilities: { resume, fork: false, approvals: true, mcpHttp: true, mcpStdio: true },
    }),
    start: (request, sink) => start(name, options, request, sink),
  };
}

async function start(
  name: string,
  options: AcpOptions,
  request: DriverRequest,
  sink: DriverSink,
): Promise<DriverOutcome> {
  if (request.signal.aborted) return { status: "cancelled" };
  const refusal = refuseResume(name, request);
  if (refusal !== undefined) return { status: "failed", error: new TroupeError("resume_failed", refusal) };
  const run = new AcpRun({ name, options, request, sink });
  return run.outcome();
}

function refuseResume(name: string, request: DriverRequest): string | undefined {
  const checkpoint = request.resume?.checkpoint;
  if (checkpoint === undefined) return undefined;
  if (request.resume?.fork) return "A session of this protocol cannot be forked.";
  if (checkpoint.driver !== name) return `The conversation belongs to ${checkpoint.driver}, not to ${name}.`;
  if (checkpoint.workspace === request.workspace) return undefined;
  return `The conversation was held in another workspace (${checkpoint.workspace}).`;
}
