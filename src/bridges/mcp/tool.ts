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
  /** W3C trace context of the call, from the `traceparent` in its `_meta`. */
  readonly traceparent?: string;
  /** Aborts when the client takes the call back. A lost connection or a client's own time limit does not abort it. */
  readonly cancelled: AbortSignal;
  /** The client can show a form to its person. */
  readonly canAsk: boolean;
  /** The client takes a task in place of an answer, and looks after it. */
  readonly takesTask: boolean;
  /** Answers to what an earlier round of the same call asked, by the keys of its forms; not checked by anybody yet. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** What the earlier round gave along. It went through the client: a hint, no proof. */
  readonly hint?: string;
}

/** What a client shows to its person: a flat form. */
export interface McpForm {
  /** Names the answer. */
  readonly key: string;
  readonly message: string;
  readonly schema: FormSchema;
}

/** A flat object of primitives, as clients can show it. */
export interface FormSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly required?: readonly string[];
}

/** A call that needs an answer of a person. It is called again, with the answer. */
export interface McpQuestion {
  readonly form: McpForm;
  /** Comes back with the answer, see {@link McpCall.hint}. */
  readonly hint: string;
  /** Resolves when nobody needs the answer any more. */
  pointless(): Promise<void>;
}

/** A call that goes on as a task, in the words of the extension `io.modelcontextprotocol/tasks`. */
export interface McpTask {
  readonly taskId: string;
  readonly status: "working" | "input_required" | "completed" | "cancelled";
  readonly statusMessage: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601. */
  readonly lastUpdatedAt: string;
  /** With `completed`, also when the answer is an error. */
  readonly answer?: McpAnswer;
  /** With `input_required`. */
  readonly form?: McpForm;
}

/** Looks after calls that went on as tasks. All get a task's id from the client. */
export interface McpTasks {
  /** @returns `undefined` when there is no such task, or no longer. */
  get(taskId: string): McpTask | undefined;
  /** @returns whether there is such a task. */
  cancel(taskId: string): boolean;
  /** Takes answers to the task's form. @returns whether there is such a task. */
  update(taskId: string, answers: Readonly<Record<string, unknown>>): Promise<boolean>;
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
  call(call: McpCall): Promise<McpAnswer | McpQuestion | { readonly task: McpTask }>;
  /** Absent when no call becomes a task. */
  readonly tasks?: McpTasks;
  /** One line on what goes on, for clients that show progress; at most 80 characters. */
  progress(call: McpCall): string;
}
