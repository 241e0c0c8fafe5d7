import type { Message } from "@a2a-js/sdk";
import { defined } from "../../core/defined.js";
import { MAX_CLOSING_TEXT } from "../http/words.js";
import { adkKind, type PendingApproval } from "./tool-traffic.js";
import { spokenText } from "./words.js";

/** What a remote asks. */
export interface Question {
  readonly prompt?: string;
  readonly schema?: unknown;
}

type Json = Readonly<Record<string, unknown>>;

/** Members under which remotes put the JSON Schema of the answer that they want. */
const SCHEMA_MEMBERS = ["resumeSchema", "responseSchema", "requestedSchema", "inputSchema", "schema"];
/** Members that hold the question within a payload. */
const PROMPT_MEMBERS = ["question", "prompt", "message", "title", "description"];
/** Characters of a schema that comes as text. */
const MAX_SCHEMA_TEXT = 100_000;
const MAX_DEPTH = 3;

/** The question in the message of a task that requires input; `undefined` when it asks nothing. */
export function questionOf(
  message: Message | undefined,
  approval: PendingApproval | undefined,
): Question | undefined {
  if (approval !== undefined) {
    const words = spokenText(message, MAX_CLOSING_TEXT);
    const asked = `May the tool "${approval.name}" run with ${approval.args || "no arguments"}?`;
    return { prompt: words === undefined ? asked : `${words}\n${asked}`, schema: approvalSchema(approval) };
  }
  const words = spokenText(message, MAX_CLOSING_TEXT);
  const data = (message?.parts ?? []).flatMap((part) =>
    part.content?.$case === "data" ? [{ value: part.content.value as unknown, adk: adkKind(part) }] : [],
  );
  if (words === undefined && data.length === 0) return undefined;
  const schema = data.map(({ value }) => schemaIn(value)).find((found) => found !== undefined);
  const detail = data.map(({ value }) => promptIn(value, 0)).find((found) => found !== undefined);
  const fallback = data.flatMap(({ value, adk }) =>
    adk === "function_call" && isJson(value) ? [`The tool "${String(value.name)}" waits for an answer.`] : [],
  )[0];
  const parts = [words, detail ?? (words === undefined ? fallback : undefined)];
  const prompt = parts.filter((part) => part !== undefined && part !== "").join("\n");
  return { ...(prompt === "" ? {} : { prompt }), ...defined({ schema }) };
}

/** What gemini-cli takes as an answer. */
function approvalSchema({ callId }: PendingApproval): Json {
  return {
    type: "object",
    properties: {
      callId: { type: "string", const: callId },
      outcome: { type: "string", enum: ["proceed_once", "cancel"] },
    },
    required: ["callId", "outcome"],
  };
}

function schemaIn(data: unknown): unknown {
  if (!isJson(data)) return undefined;
  for (const member of SCHEMA_MEMBERS) {
    const found = asSchema(data[member]);
    if (found !== undefined) return found;
  }
  return data.type === "object" && isJson(data.properties) ? data : undefined;
}

function asSchema(value: unknown): unknown {
  if (isJson(value)) return value;
  if (typeof value !== "string" || value.length > MAX_SCHEMA_TEXT) return undefined;
  try {
    const parsed: unknown = JSON.parse(value);
    return isJson(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function promptIn(data: unknown, depth: number): string | undefined {
  if (!isJson(data) || depth > MAX_DEPTH) return undefined;
  for (const member of PROMPT_MEMBERS) {
    const value = data[member];
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  const tool = typeof data.toolName === "string" ? `Tool "${data.toolName}"` : undefined;
  const inner = promptIn(data.suspendPayload, depth + 1) ?? promptIn(data.args, depth + 1);
  return inner ?? tool;
}

function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
