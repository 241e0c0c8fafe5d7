import { randomUUID } from "node:crypto";
import type { Driver, DriverOutcome, DriverRequest, DriverSink } from "../../core/driver.js";
import { TroupeError } from "../../core/errors.js";
import { ClaudeRun } from "./claude-run.js";
import { temporaryDirectory } from "./launch.js";
import type { ClaudeOptions } from "./options.js";

const NAME = "claude";

/**
 * Variables of the host that Claude Code needs. Those that it sets for its own children (`CLAUDECODE`, session ids) stay out, so
 * that a host can itself be started from Claude Code.
 */
const ENVIRONMENT = [
  "ANTHROPIC_*",
  "CLAUDE_CONFIG_DIR",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "CLAUDE_CODE_USE_*",
  "CLAUDE_CODE_SKIP_*",
  "CLAUDE_CODE_MAX_*",
  "CLAUDE_CODE_DISABLE_*",
  "DISABLE_TELEMETRY",
  "DISABLE_ERROR_REPORTING",
  "API_TIMEOUT_MS",
  "MCP_*",
  "MAX_MCP_OUTPUT_TOKENS",
];

/**
 * Drives Claude Code: its stream-json output, with its control protocol on the same lines. MCP servers and their credentials go to
 * it in the `initialize` request only, so they are in no argument, variable or file.
 */
export function claude(options: ClaudeOptions = {}): Driver {
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
  options: ClaudeOptions,
  request: DriverRequest,
  sink: DriverSink,
): Promise<DriverOutcome> {
  if (request.signal.aborted) return { status: "cancelled" };
  const refusal = refuseResume(request);
  if (refusal !== undefined) return { status: "failed", error: new TroupeError("resume_failed", refusal) };
  const temporary = await temporaryDirectory();
  try {
    if (request.signal.aborted) return { status: "cancelled" };
    return await new ClaudeRun({
      options,
      request,
      sink,
      newSession: randomUUID(),
      temporary: temporary.path,
    }).outcome();
  } finally {
    await temporary.remove();
  }
}

function refuseResume(request: DriverRequest): string | undefined {
  const checkpoint = request.resume?.checkpoint;
  if (checkpoint === undefined) return undefined;
  if (checkpoint.driver !== NAME)
    return `The conversation belongs to ${checkpoint.driver}, not to Claude Code.`;
  if (checkpoint.workspace === request.workspace) return undefined;
  return `Claude Code finds a conversation only in the workspace it was held in (${checkpoint.workspace}).`;
}
