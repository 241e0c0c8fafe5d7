import type { ModelScript } from "../model-server.js";

/** One thing that the scripted model says. */
export type ResponsesItem =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | {
      readonly type: "function_call";
      /** Made up when absent. */
      readonly callId?: string;
      readonly name: string;
      /** The group of an MCP tool, such as `mcp__a2a_subagents`. */
      readonly namespace?: string;
      readonly arguments: Readonly<Record<string, unknown>>;
    }
  /** A tool whose input is free text, such as `apply_patch` or the code mode's `exec`. */
  | {
      readonly type: "custom_tool_call";
      readonly callId?: string;
      readonly name: string;
      readonly input: string;
    }
  /** Nothing is sent until the promise has settled. */
  | { readonly type: "pause"; readonly until: Promise<unknown> };

/** How the scripted server answers one request. */
export type ResponsesReply =
  /** `stall`: the stream stays open and silent after these items; `cut`: the connection is closed instead of completed. */
  | { readonly content: readonly ResponsesItem[]; readonly stall?: boolean; readonly cut?: boolean }
  /** The request is refused with this status. */
  | { readonly error: { readonly status: number; readonly code?: string; readonly message?: string } }
  /** The stream begins and ends with `response.failed`. */
  | { readonly failed: { readonly code: string; readonly message: string } }
  /** Never answers. */
  | { readonly hang: true };

/** A tool's output as the model was shown it. */
export interface SeenToolOutput {
  readonly callId: string;
  readonly output: unknown;
  /** `output` as one text. */
  readonly text: string;
}

/** What the model was shown in one request. */
export interface ResponsesConversation {
  /** The text of the last message of the person. */
  readonly prompt: string;
  /** Outputs that came after the last message of anybody, in order. */
  readonly toolOutputs: readonly SeenToolOutput[];
  /** How many messages and calls the model has sent so far. */
  readonly replies: number;
  /** Names of the tools that are offered; those of a namespace as `namespace.name`. */
  readonly tools: readonly string[];
  /** The request's body, verbatim. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Replies in order of the requests, or a function of what the model sees. A list that has run out answers "Done.". */
export type ResponsesScript = ModelScript<ResponsesConversation, ResponsesReply>;

/** Reads a request's body into what matters to a script. Anything malformed reads as absent. */
export function readResponsesConversation(body: unknown): ResponsesConversation {
  const request = asRecord(body);
  const input = asArray(request.input).map(asRecord);
  const lastMessage = input.findLastIndex((item) => item.type === "message");
  const prompt = input.findLast((item) => item.type === "message" && item.role === "user");
  return {
    prompt: textOf(prompt?.content),
    toolOutputs: input.slice(lastMessage + 1).flatMap((item) => {
      if (item.type !== "function_call_output" && item.type !== "custom_tool_call_output") return [];
      const { call_id: id, output } = item;
      return [{ callId: typeof id === "string" ? id : "", output, text: textOf(output) }];
    }),
    replies: input.filter(
      ({ type, role }) => role === "assistant" || type === "function_call" || type === "custom_tool_call",
    ).length,
    tools: asArray(request.tools).flatMap(toolNames),
    body: request,
  };
}

function toolNames(value: unknown): string[] {
  const { name, type, tools } = asRecord(value);
  if (typeof name !== "string") return typeof type === "string" ? [type] : [];
  if (!Array.isArray(tools)) return [name];
  return tools.flatMap((tool) => {
    const inner = asRecord(tool).name;
    return typeof inner === "string" ? [`${name}.${inner}`] : [];
  });
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return asArray(content)
    .map(asRecord)
    .flatMap(({ text }) => (typeof text === "string" ? [text] : []))
    .join("\n");
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
