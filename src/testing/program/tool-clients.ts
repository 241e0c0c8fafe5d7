import type {
  CallToolResult,
  Client,
  ClientCapabilities,
  Implementation,
  Tool,
  Transport,
} from "@modelcontextprotocol/client";

/** An MCP server as it was configured. */
export interface ServerConfig {
  readonly type?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly timeout?: number;
}

/** A tool that a server offers. */
export interface OfferedTool {
  readonly server: string;
  readonly tool: Tool;
  /** `mcp__server__tool`. */
  readonly name: string;
}

/** A result as the stream and the model are given it. */
export interface SeenResult {
  /** What the model sees. */
  readonly text: string;
  readonly isError: boolean;
  /** The field `tool_use_result` of the stream. */
  readonly streamed: unknown;
}

/** A question of a server to the person. */
export type Elicit = (
  server: string,
  request: { readonly message: string; readonly mode: string; readonly schema: unknown },
) => Promise<{
  action: "accept" | "decline" | "cancel";
  content?: Record<string, string | number | boolean | string[]>;
}>;

/** How a scripted program speaks to its servers. */
export interface ToolClientsOptions {
  readonly elicit: Elicit;
  /** How it introduces itself. */
  readonly client: Implementation;
  readonly capabilities: ClientCapabilities;
  /** Speak the era before 2026-07-28 only. */
  readonly legacy: boolean;
  /** Milliseconds that one call may take where the server's configuration does not say. */
  readonly timeoutMs: number;
  /** `_meta` of the request of a call. */
  meta(callId: string): Record<string, unknown>;
  /** Structured content counts also in an error. */
  readonly structuredErrors?: boolean;
}

/** The MCP side of the scripted program: real clients of every configured server. */
export class ToolClients {
  readonly #clients = new Map<string, { client: Client; timeout: number }>();
  readonly #tools: OfferedTool[] = [];
  readonly #status = new Map<string, "connected" | "failed">();
  readonly #failures = new Map<string, string>();
  readonly #options: ToolClientsOptions;

  constructor(options: ToolClientsOptions) {
    this.#options = options;
  }

  get tools(): readonly OfferedTool[] {
    return this.#tools;
  }

  get status(): readonly { name: string; status: string; source: string }[] {
    return [...this.#status].map(([name, status]) => ({ name, status, source: "dynamic" }));
  }

  /** Why servers could not be used, by name. */
  get failures(): ReadonlyMap<string, string> {
    return this.#failures;
  }

  /** Connects to all servers; one that fails only misses its tools. */
  async connect(servers: Readonly<Record<string, ServerConfig>>): Promise<void> {
    await Promise.all(
      Object.entries(servers).map(async ([name, config]) => {
        try {
          await this.#connect(name, config);
          this.#status.set(name, "connected");
        } catch (error) {
          this.#failures.set(name, error instanceof Error ? error.message : String(error));
          this.#status.set(name, "failed");
        }
      }),
    );
  }

  /** Finds a tool by `mcp__server__tool` or by its bare name. */
  find(name: string): OfferedTool | undefined {
    return this.#tools.find((offered) => offered.name === name || offered.tool.name === name);
  }

  /** Calls a tool and shows its result as the program would. Never rejects. */
  async call(offered: OfferedTool, input: unknown, callId: string, signal: AbortSignal): Promise<SeenResult> {
    const connected = this.#clients.get(offered.server);
    if (!connected) return failed(`MCP server "${offered.server}" is not connected`);
    try {
      const result = await connected.client.callTool(
        {
          name: offered.tool.name,
          arguments: typeof input === "object" && input !== null ? { ...input } : {},
          _meta: this.#options.meta(callId),
        },
        // A progress handler is what makes the client send a progressToken.
        { signal, timeout: connected.timeout, onprogress: () => {} },
      );
      return seen(result, this.#options.structuredErrors === true);
    } catch (error) {
      return failed(error instanceof Error ? error.message : String(error));
    }
  }

  async #connect(name: string, config: ServerConfig): Promise<void> {
    // Half of the program's start, which it needs only with servers.
    const { Client } = await import("@modelcontextprotocol/client");
    const client: Client = new Client(this.#options.client, {
      capabilities: this.#options.capabilities,
      ...(this.#options.legacy ? {} : { versionNegotiation: { mode: "auto" as const } }),
      listChanged: {
        tools: { autoRefresh: false, onChanged: () => void this.#list(name, client).catch(() => {}) },
      },
    });
    if (this.#options.capabilities.roots !== undefined) {
      client.setRequestHandler("roots/list", () => ({
        roots: [{ uri: `file://${process.cwd()}`, name: "workspace" }],
      }));
    }
    if (this.#options.capabilities.elicitation !== undefined) {
      client.setRequestHandler("elicitation/create", (request) => {
        const { params } = request;
        return this.#options.elicit(name, {
          message: params.message,
          mode: params.mode ?? "form",
          schema: "requestedSchema" in params ? params.requestedSchema : undefined,
        });
      });
    }
    await client.connect(await transportOf(config));
    this.#clients.set(name, { client, timeout: config.timeout ?? this.#options.timeoutMs });
    await this.#list(name, client);
  }

  async #list(server: string, client: Client): Promise<void> {
    const { tools } = await client.listTools();
    const others = this.#tools.filter((offered) => offered.server !== server);
    const prefix = `mcp__${server.replace(/[^A-Za-z0-9_-]/g, "_")}__`;
    this.#tools.splice(
      0,
      this.#tools.length,
      ...others,
      ...tools.map((tool) => ({ server, tool, name: `${prefix}${tool.name}` })),
    );
  }
}

async function transportOf(config: ServerConfig): Promise<Transport> {
  if (config.command !== undefined) {
    const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
    return new StdioClientTransport({
      command: config.command,
      args: [...(config.args ?? [])],
      // A stdio server inherits the whole environment of the program.
      env: { ...definedEnvironment(), ...config.env },
      stderr: "ignore",
    });
  }
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  return new StreamableHTTPClientTransport(new URL(config.url ?? ""), {
    requestInit: { headers: { ...config.headers } },
  });
}

function definedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Structured content hides the text from the model; an error shows only its text, unless the program says otherwise. */
function seen(result: CallToolResult, structuredErrors: boolean): SeenResult {
  const text = result.content
    .map((block) =>
      block.type === "text"
        ? block.text
        : block.type === "resource_link"
          ? `[Resource link: ${block.name}] ${block.uri}`
          : `[${block.type}]`,
    )
    .join("\n");
  const meta = result._meta === undefined ? {} : { _meta: result._meta };
  if (result.isError && !structuredErrors)
    return { text, isError: true, streamed: { content: `Error: ${text}`, ...meta } };
  const structured = result.structuredContent;
  return {
    text: structured === undefined ? text : JSON.stringify(structured),
    isError: result.isError === true,
    streamed: {
      content: result.content,
      ...(structured === undefined ? {} : { structuredContent: structured }),
      ...meta,
    },
  };
}

function failed(message: string): SeenResult {
  return { text: message, isError: true, streamed: `Error: ${message}` };
}
