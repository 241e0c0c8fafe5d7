/** A tool as it is advertised. Schemas go out byte for byte; arguments are checked by the tool itself. */
export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
  readonly outputSchema?: Record<string, unknown>;
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint?: boolean;
    readonly openWorldHint?: boolean;
  };
}

/** One call of a tool, free of the protocol's era. */
export interface McpCall {
  readonly tool: string;
  readonly input: unknown;
  /** The program's own id of the tool call, when it sends one. */
  readonly callId?: string;
  /** Aborts when the client takes the call back. A lost connection or a client's own time limit does not abort it. */
  readonly cancelled: AbortSignal;
}

/** What a call answers. `structured` is also sent as text, because programs show their model the one or the other. */
export interface McpAnswer {
  readonly structured: Record<string, unknown>;
  readonly isError: boolean;
  /** Not shown to the model. */
  readonly meta?: Record<string, unknown>;
}

/** What the endpoint serves to one run. */
export interface McpToolset {
  /** Read for every request, so it may change. */
  tools(): readonly McpTool[];
  /** Must not reject. */
  call(call: McpCall): Promise<McpAnswer>;
  /** One line on what goes on, for clients that show progress; at most 80 characters. */
  progress(call: McpCall): string;
}
