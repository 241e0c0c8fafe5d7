/** An MCP server that a run's agent may use. */
export type McpServer = McpHttpServer | McpStdioServer;

interface McpServerCommon {
  /** Name of the server inside the agent; letters, digits, `-` and `_`. */
  readonly name: string;
  /** Hard limit of one tool call in milliseconds, for programs that take one. */
  readonly timeoutMs?: number;
  /** Tools of this server run without asking a person. Default `false`. */
  readonly trusted?: boolean;
  /** Calls of its tools may run side by side, for programs that ask per server. Default `false`. */
  readonly parallel?: boolean;
}

/** Streamable HTTP. `${RUN_ID}` and `${RUN_TOKEN}` in header values are expanded per run. */
export interface McpHttpServer extends McpServerCommon {
  readonly transport: "http";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A child process of the agent. `${RUN_ID}` and `${RUN_TOKEN}` in values of `env` are expanded per run. */
export interface McpStdioServer extends McpServerCommon {
  readonly transport: "stdio";
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Values that placeholders of an {@link McpServer} stand for. */
export interface RunVariables {
  readonly RUN_ID: string;
  readonly RUN_TOKEN: string;
}

/** Replaces `${RUN_ID}` and `${RUN_TOKEN}` in headers and env; anything else that looks like a placeholder is left alone. */
export function expandRunVariables(server: McpServer, variables: RunVariables): McpServer {
  const expand = (values: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(values).map(([key, value]) => [
        key,
        // In one pass and literally: clients choose run ids, and one that reads `${RUN_TOKEN}` must not become the token.
        value.replace(/\$\{(RUN_ID|RUN_TOKEN)\}/g, (_whole, name: keyof RunVariables) => variables[name]),
      ]),
    );
  if (server.transport === "http")
    return server.headers ? { ...server, headers: expand(server.headers) } : server;
  return server.env ? { ...server, env: expand(server.env) } : server;
}
