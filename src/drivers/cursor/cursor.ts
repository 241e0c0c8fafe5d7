import type { Driver, DriverOutcome, DriverRequest, DriverSink } from "../../core/driver.js";
import { TroupeError } from "../../core/errors.js";
import { CursorRun } from "./cursor-run.js";
import type { CursorOptions } from "./options.js";

const NAME = "cursor";

/** Variables of the host that Cursor's agent needs. Those that it sets for its own children stay out. */
const ENVIRONMENT = ["CURSOR_API_KEY", "CURSOR_AUTH_TOKEN", "CURSOR_CONFIG_DIR"];

/**
 * Drives Cursor's command line agent by its stream of JSON lines, one process a run. It asks nobody: what it may do is decided by
 * `force` and by its own permissions. The run's MCP servers are named in the workspace's `.cursor/mcp.json` while it works; their
 * credentials stay in the host.
 */
export function cursor(options: CursorOptions = {}): Driver {
  return {
    describe: () => ({
      name: NAME,
      environment: ENVIRONMENT,
      // A stdio server's own variables would have to stand in the file.
      capabilities: { resume: true, fork: false, approvals: false, mcpHttp: true, mcpStdio: false },
    }),
    start: (request, sink) => start(options, request, sink),
  };
}

async function start(
  options: CursorOptions,
  request: DriverRequest,
  sink: DriverSink,
): Promise<DriverOutcome> {
  if (request.signal.aborted) return { status: "cancelled" };
  const refusal = refuseResume(request);
  if (refusal !== undefined) return { status: "failed", error: new TroupeError("resume_failed", refusal) };
  return new CursorRun({ options, request, sink }).outcome();
}

function refuseResume(request: DriverRequest): string | undefined {
  const checkpoint = request.resume?.checkpoint;
  if (checkpoint === undefined) return undefined;
  if (request.resume?.fork) return "A conversation of Cursor cannot be forked.";
  if (checkpoint.driver !== NAME) return `The conversation belongs to ${checkpoint.driver}, not to Cursor.`;
  if (checkpoint.workspace === request.workspace) return undefined;
  return `The conversation was held in another workspace (${checkpoint.workspace}).`;
}
