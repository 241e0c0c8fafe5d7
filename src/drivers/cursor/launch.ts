import type { DriverRequest } from "../../core/driver.js";
import type { McpServer } from "../../core/mcp-server.js";
import { bridgeCommand } from "../process/mcp-bridge.js";
import type { CursorOptions } from "./options.js";

/**
 * The program's command line. It holds no secret and not the prompt: `/proc` shows it to everyone, and one argument may have 128 KiB
 * on Linux. The prompt goes to standard input.
 */
export function cursorCommand(
  options: CursorOptions,
  request: Pick<DriverRequest, "mcpServers" | "resume">,
): [string, ...string[]] {
  const { executable = "agent", model, mode, sandbox, force, trustWorkspace = true, extraArgs } = options;
  const [file, ...first] = typeof executable === "string" ? [executable] : executable;
  const session = request.resume?.checkpoint.session;
  return [
    file,
    ...first,
    ...["--print", "--output-format", "stream-json", "--stream-partial-output"],
    ...(trustWorkspace ? ["--trust"] : []),
    // Without it a server that the project names is not started; it cannot be said for one server alone.
    ...(request.mcpServers.length > 0 ? ["--approve-mcps"] : []),
    ...(force ? ["--force"] : []),
    ...(model === undefined ? [] : ["--model", model]),
    ...(mode === undefined ? [] : ["--mode", mode]),
    ...(sandbox === undefined ? [] : ["--sandbox", sandbox]),
    ...(session === undefined ? [] : ["--resume", session]),
    ...(extraArgs ?? []),
  ];
}

/** The variable that tells a bridge where the run's server is: the file that names it is the same for all runs. */
export function addressVariable({ name }: Pick<McpServer, "name">): string {
  return `TROUPE_MCP_${name.toUpperCase().replace(/[^A-Z0-9]/g, "_")}`;
}

/** A server in `.cursor/mcp.json`. */
export function serverEntry(server: Pick<McpServer, "name">): Readonly<Record<string, unknown>> {
  const [command, ...args] = bridgeCommand(`\${env:${addressVariable(server)}}`);
  return { command, args };
}
