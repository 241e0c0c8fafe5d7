import type { McpTool } from "./tool.js";

/** Names of the tools that look after delegations which were started before. */
export const HANDLE_TOOLS = ["task_status", "task_result", "task_cancel", "task_reply"] as const;

/** One of {@link HANDLE_TOOLS}. */
export type HandleTool = (typeof HANDLE_TOOLS)[number];

const id = { delegation_id: { type: "string", description: "From the result of the call that started it." } };

function schema(properties: Record<string, unknown>): Record<string, unknown> {
  return {
    type: "object",
    properties: { ...id, ...properties },
    required: ["delegation_id"],
    additionalProperties: false,
  };
}

/** Built once: the endpoint keeps a validator for each schema object. */
const TOOLS: Readonly<Record<HandleTool, McpTool>> = {
  task_status: {
    name: "task_status",
    title: "State of a delegation",
    description: "Tells at once how a delegation stands.",
    inputSchema: schema({}),
    annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
  },
  task_result: {
    name: "task_result",
    title: "Result of a delegation",
    description:
      "Gives the result of a delegation that answered `working`; waits for it if you say how long.",
    inputSchema: schema({
      wait_seconds: {
        type: "number",
        minimum: 0,
        maximum: 3_600,
        description: "How long to wait for the end; none by default.",
      },
    }),
    annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
  },
  task_cancel: {
    name: "task_cancel",
    title: "Stop a delegation",
    description: "Stops a delegation and its remote task.",
    inputSchema: schema({ reason: { type: "string", maxLength: 500 } }),
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  },
  task_reply: {
    name: "task_reply",
    title: "Answer a delegation",
    description: "Answers a delegation that returned `needs_input`, and waits for what follows.",
    inputSchema: schema({
      text: { type: "string", description: "The answer in words." },
      data: {
        type: "object",
        description: "The answer as the schema asks for it, when the question had one.",
      },
    }),
    annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: true },
  },
};

/** The tools that look after delegations. */
export function handleTools(): McpTool[] {
  return HANDLE_TOOLS.map((name) => TOOLS[name]);
}

/** Whether `name` is one of them. */
export function isHandleTool(name: string): name is HandleTool {
  return name in TOOLS;
}
