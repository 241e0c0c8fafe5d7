import type { Driver, DriverOutcome, DriverRequest, DriverSink } from "../../core/driver.js";
import { TroupeError } from "../../core/errors.js";
import { CodexRun } from "./codex-run.js";
import type { CodexOptions } from "./options.js";

const NAME = "codex";

/**
 * Variables of the host that Codex needs. Those that it sets for its own children (`CODEX_SANDBOX` and others) stay out, so that a
 * host can itself be started from Codex.
 */
const ENVIRONMENT = [
  "CODEX_HOME",
  "CODEX_API_KEY",
  "CODEX_ACCESS_TOKEN",
  "CODEX_CA_CERTIFICATE",
  "OPENAI_API_KEY",
  "OPENAI_BASE_URL",
  "OPENAI_ORGANIZATION",
  "OPENAI_PROJECT",
];

/**
 * Drives Codex by its app-server: lines of JSON on standard input and output, one process a run. MCP servers and their credentials
 * go to it in the request that opens the thread only, so they are in no argument, variable or file.
 */
export function codex(options: CodexOptions = {}): Driver {
  return {
    describe: () => ({
      name: NAME,
      environment: ENVIRONMENT,
      capabilities: { resume: true, fork: true, approvals: true, mcpHttp: true, mcpStdio: true },
    }),
    start: (request, sink) => start(options, request, sink),
  };
}

async function start(
  options: CodexOptions,
  request: DriverRequest,
  sink: DriverSink,
): Promise<DriverOutcome> {
  if (request.signal.aborted) return { status: "cancelled" };
  const refusal = refuseResume(request);
  if (refusal !== undefined) return { status: "failed", error: new TroupeError("resume_failed", refusal) };
  return new CodexRun({ options, request, sink }).outcome();
}

function refuseResume(request: DriverRequest): string | undefined {
  const checkpoint = request.resume?.checkpoint;
  if (checkpoint === undefined) return undefined;
  if (checkpoint.driver !== NAME) return `The conversation belongs to ${checkpoint.driver}, not to Codex.`;
  if (checkpoint.workspace === request.workspace) return undefined;
  return `The conversation was held in another workspace (${checkpoint.workspace}).`;
}
