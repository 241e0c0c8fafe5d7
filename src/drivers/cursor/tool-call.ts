import { startOf } from "../../core/text.js";
import { asList, asNumber, asObject, asText, isObject, type JsonObject } from "../process/json.js";

/** A tool call as a `tool_call` event shows it. */
export interface CursorTool {
  readonly name: string;
  /** MCP server and tool, when it is an MCP tool. */
  readonly server?: string;
  readonly tool?: string;
  readonly input: unknown;
  /** `undefined` while it works. */
  readonly result: JsonObject | undefined;
}

/** Characters of a result that is no text. */
const RAW_RESULT = 20_000;

/**
 * Reads the `tool_call` of an event: an object with one member, such as `shellToolCall`, that holds `args` and later `result`.
 * @param servers names of the run's MCP servers.
 */
export function readTool(toolCall: unknown, servers: readonly string[]): CursorTool {
  const [kind = "tool", value] = Object.entries(asObject(toolCall)).find(([, item]) => isObject(item)) ?? [];
  const call = asObject(value);
  const result = isObject(call.result) ? call.result : undefined;
  if (kind === "mcpToolCall") return mcpTool(asObject(call.args), result, servers);
  if (kind === "function") {
    const input = typeof call.arguments === "string" ? parsed(call.arguments) : (call.arguments ?? {});
    return { name: asText(call.name) ?? "function", input, result };
  }
  return { name: kind.replace(/ToolCall$/, ""), input: call.args ?? {}, result };
}

/** How a call ended. */
export function readResult({ name, result = {} }: CursorTool): { content: string; isError: boolean } {
  const { success } = result;
  const exitCode = asNumber(asObject(success).exitCode);
  const isError = success === undefined || asObject(success).isError === true || (exitCode ?? 0) !== 0;
  const detail = success ?? Object.values(result).find(isObject) ?? result;
  return { content: textOf(name, asObject(detail), Object.keys(result)[0]), isError };
}

function mcpTool(args: JsonObject, result: JsonObject | undefined, servers: readonly string[]): CursorTool {
  const full = asText(args.name) ?? "tool";
  const server =
    asText(args.providerIdentifier) ?? servers.find((name) => full.startsWith(`${name}-`)) ?? "unknown";
  const tool =
    asText(args.toolName) ?? (full.startsWith(`${server}-`) ? full.slice(server.length + 1) : full);
  return { name: `mcp__${server}__${tool}`, server, tool, input: args.args ?? {}, result };
}

function textOf(name: string, detail: JsonObject, outcome: string | undefined): string {
  if (name === "shell") {
    const output = [detail.stdout, detail.stderr].flatMap((text) => asText(text) ?? []).join("\n");
    const code = asNumber(detail.exitCode);
    if (output !== "" || code !== undefined)
      return code === undefined || code === 0 ? output : `${output}\nExit code: ${code}`.trim();
  }
  const content = asList(detail.content).flatMap((block) => {
    const { text } = asObject(block);
    return asText(text) ?? asText(asObject(text).text) ?? [];
  });
  if (content.length > 0) return content.join("\n");
  const words =
    asText(detail.content) ?? asText(detail.message) ?? asText(detail.error) ?? asText(detail.reason);
  if (words !== undefined) return words;
  const json = JSON.stringify(detail);
  return json === "{}" ? (outcome ?? "") : startOf(json, RAW_RESULT);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return { text: json };
  }
}
