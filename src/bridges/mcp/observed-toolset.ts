import { defined } from "../../core/defined.js";
import type { CreateId } from "../../core/ids.js";
import type { DriverEvent } from "../../core/run-event.js";
import { MCP_SERVER_NAME } from "../../delegation/server-name.js";
import type { McpAnswer, McpCall, McpQuestion, McpTask, McpTasks, McpTool, McpToolset } from "./tool.js";

/** A toolset whose calls are told as the tool calls of a run, for a parent that is not driven and tells nothing itself. */
export class ObservedToolset implements McpToolset {
  readonly tasks?: McpTasks;
  /** The ids of calls whose client sends none. */
  readonly #ids = new WeakMap<McpCall, string>();

  constructor(
    private readonly toolset: McpToolset,
    private readonly emit: (event: DriverEvent) => void,
    private readonly createId: CreateId,
  ) {
    if (toolset.tasks !== undefined) this.tasks = toolset.tasks;
  }

  tools(): readonly McpTool[] {
    return this.toolset.tools();
  }

  progress(call: McpCall): string {
    const callId = call.callId ?? this.#ids.get(call);
    return this.toolset.progress({ ...call, ...defined({ callId }) });
  }

  async call(call: McpCall): Promise<McpAnswer | McpQuestion | { readonly task: McpTask }> {
    // A later round of a call was told with the first.
    if (call.answers !== undefined) return this.toolset.call(call);
    const { tool, input, callId: toolCallId = this.createId("call") } = call;
    this.#ids.set(call, toolCallId);
    this.emit({
      type: "tool.start",
      toolCallId,
      name: `mcp__${MCP_SERVER_NAME}__${tool}`,
      server: MCP_SERVER_NAME,
      tool,
    });
    this.emit({ type: "tool.args", toolCallId, delta: JSON.stringify(input ?? {}) });
    this.emit({ type: "tool.end", toolCallId });
    const reply = await this.toolset.call({ ...call, callId: toolCallId });
    const [content, isError] =
      "structured" in reply
        ? [JSON.stringify(reply.structured), reply.isError]
        : ["form" in reply ? reply.form.message : reply.task.statusMessage, false];
    this.emit({ type: "tool.result", toolCallId, content, isError });
    return reply;
  }
}
