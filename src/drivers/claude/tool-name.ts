const PREFIX = "mcp__";

/** An MCP tool as its server knows it. */
export interface McpToolName {
  readonly server: string;
  readonly tool: string;
}

/**
 * Splits a name such as `mcp__research__web__search`. Servers and tools may have `__` in their own names, so the servers of the run
 * decide, the longest first; an unknown server ends at the first `__`.
 * @param servers names of the run's MCP servers as they were configured.
 * @returns `undefined` when it is no MCP tool.
 */
export function splitToolName(name: string, servers: readonly string[]): McpToolName | undefined {
  if (!name.startsWith(PREFIX)) return undefined;
  const rest = name.slice(PREFIX.length);
  const known = servers
    .filter((server) => rest.startsWith(`${mcpServerName(server)}__`))
    .sort((one, other) => other.length - one.length)[0];
  if (known !== undefined) return { server: known, tool: rest.slice(known.length + 2) };
  const at = rest.indexOf("__");
  return at > 0 ? { server: rest.slice(0, at), tool: rest.slice(at + 2) } : undefined;
}

/** The name of a server inside Claude Code, which replaces everything but letters, digits, `-` and `_`. */
export function mcpServerName(server: string): string {
  return server.replace(/[^A-Za-z0-9_-]/g, "_");
}
