import type { ApprovalDecision } from "../../core/approval.js";
import { defined } from "../../core/defined.js";
import type { DriverSink } from "../../core/driver.js";
import { startOf } from "../../core/text.js";
import { asList, asObject, asText, type JsonObject } from "../process/json.js";
import { mcpToolName } from "./tool-item.js";

/** A request of the program as a question to a person, and how its answer is told to the program. */
export interface Question {
  readonly ask: Parameters<DriverSink["approve"]>[0];
  answer(decision: ApprovalDecision): JsonObject;
}

/** What is known of the run's open calls. */
export interface KnownCalls {
  inputOf(toolCallId: string): unknown;
  callOf(
    server: string,
    tool: string | undefined,
    input: unknown,
  ): { readonly toolCallId: string; readonly tool: string } | undefined;
}

/** Characters of a command in a title. */
const TITLE = 120;

/** Reads a request of the program; `undefined` when a person cannot decide it. */
export function readQuestion(method: string, params: JsonObject, calls: KnownCalls): Question | undefined {
  switch (method) {
    case "item/commandExecution/requestApproval":
      return commandQuestion(params);
    case "item/fileChange/requestApproval":
      return fileQuestion(params, calls);
    case "item/permissions/requestApproval":
      return permissionsQuestion(params);
    case "mcpServer/elicitation/request":
      return elicitationQuestion(params, calls);
    case "item/tool/requestUserInput":
      return userInputQuestion(params);
    default:
      return undefined;
  }
}

function accepted({ decision }: ApprovalDecision): JsonObject {
  return { decision: decision === "approve" ? "accept" : "decline" };
}

function commandQuestion(params: JsonObject): Question {
  const { command, cwd, reason } = params;
  const network = asText(asObject(params.networkApprovalContext).host);
  const words = asText(command) ?? (network === undefined ? "a command" : `connect to ${network}`);
  return {
    ask: {
      kind: "permission",
      tool: "shell",
      title: `Run ${oneLine(words)}${why(reason)}`,
      input: { ...defined({ command, cwd, reason, network }) },
      ...toolCall(params),
    },
    answer: accepted,
  };
}

function fileQuestion(params: JsonObject, calls: KnownCalls): Question {
  const { toolCallId } = toolCall(params);
  const input = toolCallId === undefined ? undefined : calls.inputOf(toolCallId);
  const paths = asList(asObject(input).changes).flatMap((change) => asText(asObject(change).path) ?? []);
  return {
    ask: {
      kind: "permission",
      tool: "apply_patch",
      title: `Change ${oneLine(paths.join(", ") || "files")}${why(params.reason)}`,
      input: input ?? {},
      ...toolCall(params),
    },
    answer: accepted,
  };
}

function permissionsQuestion(params: JsonObject): Question {
  const { permissions } = params;
  return {
    ask: {
      kind: "permission",
      tool: "request_permissions",
      title: `Give more permissions${why(params.reason)}`,
      input: { permissions },
      ...toolCall(params),
    },
    answer: ({ decision }) => ({
      permissions: decision === "approve" ? asObject(permissions) : {},
      scope: "turn",
    }),
  };
}

function elicitationQuestion(params: JsonObject, calls: KnownCalls): Question | undefined {
  const server = asText(params.serverName) ?? "an MCP server";
  const meta = asObject(params._meta);
  if (meta.codex_approval_kind === "mcp_tool_call") {
    const input = meta.tool_params ?? {};
    // The request names no call, and before 0.171 no tool.
    const call = calls.callOf(server, asText(meta.tool_name), input);
    const tool = asText(meta.tool_name) ?? call?.tool ?? "a tool";
    return {
      ask: {
        kind: "permission",
        tool: mcpToolName(server, tool),
        title: `Use ${tool} of ${server}`,
        input,
        ...defined({ toolCallId: call?.toolCallId }),
      },
      answer: ({ decision }) => elicited(decision === "approve" ? "accept" : "decline", {}),
    };
  }
  const { mode, requestedSchema } = params;
  if (mode !== "form" && mode !== "openai/form" && mode !== "openaiForm" && mode !== "url") return undefined;
  const url = asText(params.url);
  return {
    ask: {
      kind: "question",
      title: asText(params.message) ?? `${server} asks for input`,
      input: { server, ...defined({ url }) },
      ...defined({ schema: requestedSchema }),
    },
    answer: ({ decision, input }) =>
      decision === "approve"
        ? elicited("accept", mode === "url" ? null : asObject(input))
        : elicited("decline", null),
  };
}

function elicited(action: "accept" | "decline", content: JsonObject | null): JsonObject {
  return { action, content: action === "accept" ? content : null, _meta: null };
}

/** The program's own questions as one form: one property per question, named by its id as the program wants it. */
function userInputQuestion(params: JsonObject): Question | undefined {
  const properties: Record<string, JsonObject> = {};
  let title: string | undefined;
  for (const value of asList(params.questions)) {
    const { id, header, question, options } = asObject(value);
    const name = asText(id);
    if (name === undefined) continue;
    const labels = asList(options).flatMap((option) => asText(asObject(option).label) ?? []);
    const text = asText(question) ?? name;
    title ??= text;
    properties[name] = {
      type: "string",
      title: asText(header) ?? text,
      description: text,
      // People may answer in their own words, so the labels are a proposal.
      ...(labels.length > 0 ? { examples: labels } : {}),
    };
  }
  if (title === undefined) return undefined;
  const required = Object.keys(properties);
  return {
    ask: {
      kind: "question",
      tool: "request_user_input",
      title,
      schema: { type: "object", properties, required },
      ...toolCall(params),
    },
    answer: ({ decision, input }) => ({ answers: decision === "approve" ? answersOf(input, required) : {} }),
  };
}

function answersOf(input: unknown, names: readonly string[]): JsonObject {
  const given = asObject(input);
  return Object.fromEntries(
    names.flatMap((name) => {
      const values = (Array.isArray(given[name]) ? given[name] : [given[name]]).flatMap(
        (value) => asText(value) ?? [],
      );
      return values.length === 0 ? [] : [[name, { answers: values }] as const];
    }),
  );
}

function toolCall(params: JsonObject): { toolCallId?: string } {
  return defined({ toolCallId: asText(params.itemId) });
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > TITLE ? `${startOf(line, TITLE)}…` : line;
}

function why(reason: unknown): string {
  const text = asText(reason);
  return text === undefined ? "" : `: ${oneLine(text)}`;
}
