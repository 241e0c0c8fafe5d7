import type { McpServer } from "../../core/mcp-server.js";
import { startOf } from "../../core/text.js";
import { asList, asObject, asText, isObject, type JsonObject } from "../process/json.js";

/** What is known of one tool call: the fields of its updates, the last of each. */
export type ToolFacts = JsonObject;

/** A tool call as the run shows it. */
export interface ToolView {
  readonly name: string;
  /** MCP server and tool, when it is a tool of a server that the run gave. */
  readonly server?: string;
  readonly tool?: string;
  /** One line for a person. */
  readonly title: string;
  readonly input: unknown;
  /** The arguments are the tool's own, and complete. */
  readonly complete: boolean;
  /**
   * Server and tool were read from something that neither the model nor another server can write. Only such a call may run without
   * asking because its server is trusted.
   */
  readonly certain: boolean;
}

/** Characters of a title. */
const TITLE = 160;
/** Characters of one file's old or new text in arguments that the driver puts together. */
const FILE_TEXT = 20_000;
/** Characters of output that is no text. */
const RAW_OUTPUT = 20_000;
/** Kinds whose title is what the model wrote, such as a command. */
const OWN_TOOLS = ["execute", "edit", "delete", "move", "read", "search", "fetch", "think"];

/** Adds an update to what is known. Fields that are absent or `null` change nothing. */
export function mergeFacts(known: ToolFacts | undefined, update: JsonObject): ToolFacts {
  const told = Object.entries(update).filter(([, value]) => value !== undefined && value !== null);
  return { ...known, ...Object.fromEntries(told) };
}

/**
 * Reads a tool call.
 * @param agent the agent's own name; three of them are known to say in a way of their own which tool it is.
 */
export function viewTool(facts: ToolFacts, agent: string, servers: readonly McpServer[]): ToolView {
  const title = oneLine(asText(facts.title) ?? asText(facts.name) ?? "a tool");
  const raw = isObject(facts.rawInput) && Object.keys(facts.rawInput).length > 0 ? facts.rawInput : undefined;
  const mcp = mcpTool(facts, agent, servers);
  if (mcp !== undefined) {
    const { server, tool, certain } = mcp;
    // Gemini CLI shows the arguments as the text of the call.
    const input = mcp.input ?? raw ?? jsonText(facts.content);
    const name = `mcp__${server}__${tool}`;
    return { name, server, tool, title, input: input ?? {}, complete: input !== undefined, certain };
  }
  const name = ownName(facts, agent) ?? asText(facts.kind) ?? "tool";
  return { name, title, input: raw ?? described(facts), complete: raw !== undefined, certain: false };
}

/** What a call gave, as text: its content, else its output as JSON. */
export function resultText(facts: ToolFacts): string {
  const parts = asList(facts.content).flatMap((item) => contentText(asObject(item)));
  const text = parts.join("\n");
  if (text !== "" || facts.rawOutput === undefined) return text;
  return typeof facts.rawOutput === "string"
    ? facts.rawOutput
    : startOf(JSON.stringify(facts.rawOutput), RAW_OUTPUT);
}

interface McpTool {
  readonly server: string;
  readonly tool: string;
  readonly input?: unknown;
  readonly certain: boolean;
}

function mcpTool(facts: ToolFacts, agent: string, servers: readonly McpServer[]): McpTool | undefined {
  const id = asText(facts.toolCallId) ?? "";
  const title = asText(facts.title) ?? "";
  const given = asObject(facts.rawInput);
  const meta = asText(asObject(asObject(facts._meta).claudeCode).toolName);
  const own = OWN_TOOLS.includes(asText(facts.kind) ?? "") && meta === undefined;
  for (const { name: server } of servers) {
    if (agent === "gemini-cli") {
      // The id begins with the name under which the program knows the tool; the title has both names as they are.
      const tool = title.endsWith(` (${server} MCP Server)`) ? title.split(" (")[0] : undefined;
      if (tool !== undefined && id.startsWith(`mcp_${server}_${tool}__`))
        return { server, tool, certain: true };
      continue;
    }
    if (given.server === server && typeof given.tool === "string" && !own) {
      const input = given.arguments ?? {};
      return { server, tool: given.tool, input, certain: agent.includes("codex") };
    }
    const named = toolOf(server, asText(facts.name) ?? meta ?? "");
    if (named !== undefined) return { server, tool: named, certain: true };
    // OpenCode's title of such a call is the tool's own name; of another agent it may be anything.
    const titled = own ? undefined : toolOf(server, title);
    if (titled !== undefined) return { server, tool: titled, certain: /^opencode/i.test(agent) };
  }
  return undefined;
}

/** The tool in a name such as `mcp__server__tool`, `mcp_server_tool` or `server_tool`; agents write server names with `_` only. */
function toolOf(server: string, name: string): string | undefined {
  for (const written of new Set([server, server.replace(/[^A-Za-z0-9_]/g, "_")]))
    for (const [before, after] of PATTERNS) {
      const prefix = `${before}${written}${after}`;
      const rest = name.startsWith(prefix) ? name.slice(prefix.length) : "";
      if (/^[A-Za-z0-9_.-]{1,128}$/.test(rest)) return rest;
    }
  return undefined;
}

const PATTERNS = [
  ["mcp__", "__"],
  ["mcp_", "_"],
  ["mcp.", "."],
  ["", "__"],
  ["", "_"],
  ["", "."],
  ["", "/"],
] as const;

function ownName(facts: ToolFacts, agent: string): string | undefined {
  const told = asText(facts.name) ?? asText(asObject(asObject(facts._meta).claudeCode).toolName);
  if (told !== undefined) return startOf(told, TITLE);
  if (agent !== "gemini-cli") return undefined;
  return /^([a-z][a-z0-9_]*?)__/.exec(asText(facts.toolCallId) ?? "")?.[1];
}

/** Arguments of a call whose agent does not tell them: what it does show. */
function described(facts: ToolFacts): JsonObject {
  const changes = asList(facts.content).flatMap((item) => {
    const { type, path, oldText, newText } = asObject(item);
    if (type !== "diff") return [];
    const old = asText(oldText);
    const change = { path, newText: startOf(asText(newText) ?? "", FILE_TEXT) };
    return [old === undefined ? change : { ...change, oldText: startOf(old, FILE_TEXT) }];
  });
  const paths = asList(facts.locations).flatMap((item) => asText(asObject(item).path) ?? []);
  const title = asText(facts.title);
  return {
    ...(title !== undefined && { title }),
    ...(changes.length > 0 ? { changes } : paths.length > 0 ? { paths } : {}),
  };
}

function contentText(item: JsonObject): string[] {
  if (item.type === "diff") return [`Changed ${asText(item.path) ?? "a file"}`];
  if (item.type === "terminal") return [`[terminal ${asText(item.terminalId) ?? ""}]`];
  return [blockText(asObject(item.content))];
}

/** The text of a block of content; a name in brackets for what is no text. */
export function blockText(block: JsonObject): string {
  if (typeof block.text === "string") return block.text;
  const resource = asObject(block.resource);
  if (typeof resource.text === "string") return resource.text;
  const uri = asText(block.uri) ?? asText(resource.uri);
  return `[${asText(block.type) ?? "unknown content"}${uri === undefined ? "" : ` ${startOf(uri, TITLE)}`}]`;
}

function jsonText(content: unknown): unknown {
  const [only, ...others] = asList(content);
  const text = asText(asObject(asObject(only).content).text);
  if (text === undefined || others.length > 0) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > TITLE ? `${startOf(line, TITLE)}…` : line;
}
