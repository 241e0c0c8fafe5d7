import { asList, asNumber, asObject, asText, type JsonObject } from "../process/json.js";

/** A tool call as an item of the program shows it. */
export interface ToolItem {
  readonly name: string;
  /** MCP server and tool, when it is an MCP tool. */
  readonly server?: string;
  readonly tool?: string;
  readonly input: unknown;
  /** The arguments are known only when the call is over. */
  readonly lateInput?: true;
}

/** How a tool call ended. */
export interface ToolOutcome {
  /** What the model was given, as text. */
  readonly content: string;
  readonly isError: boolean;
}

/** Reads an item as a tool call; `undefined` for items that are none. */
export function toolItem(item: JsonObject): ToolItem | undefined {
  const tool = asText(item.tool) ?? "unknown";
  switch (item.type) {
    case "commandExecution":
      return { name: "shell", input: { command: item.command, cwd: item.cwd } };
    case "fileChange":
      return { name: "apply_patch", input: { changes: asList(item.changes) } };
    case "mcpToolCall": {
      const server = asText(item.server) ?? "unknown";
      return { name: mcpToolName(server, tool), server, tool, input: item.arguments ?? {} };
    }
    case "dynamicToolCall":
      return { name: tool, input: item.arguments ?? {} };
    case "collabAgentToolCall":
      return { name: tool, input: { prompt: item.prompt, agents: asList(item.receiverThreadIds) } };
    case "webSearch":
      return { name: "web_search", input: { query: item.query, action: item.action }, lateInput: true };
    case "imageView":
      return { name: "view_image", input: { path: item.path } };
    default:
      return undefined;
  }
}

/**
 * Reads how the call of a completed item ended.
 * @param streamed what its output stream brought; counts when the item has no output of its own.
 */
export function toolOutcome(item: JsonObject, streamed: string): ToolOutcome {
  const isError = item.status === "failed" || item.status === "declined" || item.success === false;
  return { content: contentOf(item, streamed), isError };
}

/** The name under which the model knows an MCP tool: the server's name is written with `_` only. */
export function mcpToolName(server: string, tool: string): string {
  return `mcp__${server.replace(/[^A-Za-z0-9_]/g, "_")}__${tool}`;
}

function contentOf(item: JsonObject, streamed: string): string {
  switch (item.type) {
    case "commandExecution":
      return commandText(item, streamed);
    case "fileChange":
      return fileChangeText(item);
    case "mcpToolCall":
      return mcpText(item);
    case "dynamicToolCall":
      return textOf(item.contentItems);
    case "collabAgentToolCall":
      return JSON.stringify(item.agentsStates ?? {});
    default:
      return "";
  }
}

function commandText(item: JsonObject, streamed: string): string {
  if (item.status === "declined") return "The command was declined.";
  const output = asText(item.aggregatedOutput) ?? streamed;
  const exit = asNumber(item.exitCode);
  if (exit === undefined || exit === 0) return output;
  return `${output}${output === "" || output.endsWith("\n") ? "" : "\n"}Exit code: ${exit}`;
}

function fileChangeText(item: JsonObject): string {
  if (item.status === "declined") return "The change was declined.";
  const lines = asList(item.changes).map((value) => {
    const { path, kind } = asObject(value);
    return `${asText(asObject(kind).type) ?? "change"} ${asText(path) ?? "a file"}`;
  });
  return item.status === "failed" ? `The change failed: ${lines.join(", ")}` : lines.join("\n");
}

/** Structured content is all that the model sees where there is any. */
function mcpText(item: JsonObject): string {
  const error = asText(asObject(item.error).message);
  if (error !== undefined) return error;
  const { structuredContent, content } = asObject(item.result);
  return structuredContent === undefined || structuredContent === null
    ? textOf(content)
    : JSON.stringify(structuredContent);
}

function textOf(content: unknown): string {
  return asList(content)
    .map((value) => {
      const block = asObject(value);
      return typeof block.text === "string" ? block.text : `[${asText(block.type) ?? "unknown content"}]`;
    })
    .join("\n");
}
