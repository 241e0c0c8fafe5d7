import {
  type CallToolResult,
  type ElicitRequest,
  type ElicitRequestFormParams,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { defined } from "../../core/defined.js";
import type { McpAnswer, McpForm, McpTask, McpTasks } from "./tool.js";

/** Name of the tasks extension (SEP-2663), in the capabilities of both sides. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** How often a client shall look, in milliseconds. Claude Code does exactly that. */
const POLL_MS = 1_000;
/** How long a task's result may be asked for, in milliseconds, as long as its run goes on. */
const TTL_MS = 86_400_000;

/** A call's answer. */
export function toolResult({ structured, isError, meta }: McpAnswer): CallToolResult {
  return {
    content: [{ type: "text", text: JSON.stringify(structured) }],
    structuredContent: structured,
    isError,
    ...defined({ _meta: meta }),
  };
}

/** A form as MCP asks for it. */
export function elicitRequest({ message, schema }: McpForm): ElicitRequest & {
  readonly params: ElicitRequestFormParams;
} {
  // What a form may hold is checked where it is made; the SDK's type lists each kind of field.
  const requestedSchema = schema as unknown as ElicitRequestFormParams["requestedSchema"];
  return { method: "elicitation/create", params: { mode: "form", message, requestedSchema } };
}

/** A task in place of an answer. The SDK lets it through, but wants structured content of a tool with an output schema. */
export function taskResult(task: McpTask): CallToolResult {
  const structuredContent = { status: "working", delegation_id: task.taskId };
  return { content: [], structuredContent, resultType: "task", ...taskFields(task) };
}

const params = z.looseObject({ taskId: z.string() });

/** Serves the methods of the extension. */
export function serveTasks(server: Server, tasks: McpTasks): void {
  server.setRequestHandler("tasks/get", { params }, ({ taskId }) => {
    const task = tasks.get(taskId);
    if (task === undefined) throw noTask();
    const { answer, form } = task;
    return {
      ...taskFields(task),
      ...(answer === undefined || task.status !== "completed" ? {} : { result: toolResult(answer) }),
      ...(form === undefined ? {} : { inputRequests: { [form.key]: elicitRequest(form) } }),
    };
  });
  server.setRequestHandler("tasks/cancel", { params }, ({ taskId }) => {
    if (!tasks.cancel(taskId)) throw noTask();
    return {};
  });
  server.setRequestHandler("tasks/update", { params }, async ({ taskId }, { mcpReq }) => {
    // The SDK lifts the answers out of the parameters.
    if (!(await tasks.update(taskId, mcpReq.inputResponses ?? {}))) throw noTask();
    return {};
  });
}

function taskFields({ taskId, status, statusMessage, createdAt, lastUpdatedAt }: McpTask) {
  return {
    taskId,
    status,
    statusMessage,
    createdAt,
    lastUpdatedAt,
    ttlMs: TTL_MS,
    pollIntervalMs: POLL_MS,
  };
}

function noTask(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, "This run has no such task, or no longer.");
}
