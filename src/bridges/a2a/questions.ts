import type { Message } from "@a2a-js/sdk";
import type { ApprovalDecision, ApprovalRequest } from "../../core/approval.js";
import { defined } from "../../core/defined.js";
import { agentMessage, dataPart, textPart } from "./parts.js";
import type { TaskIdentity } from "./vocabulary.js";

/** What a permission or a plan wants to hear. */
const DECISION_SCHEMA = {
  type: "object",
  properties: {
    decision: { type: "string", enum: ["approve", "deny"] },
    message: { type: "string", description: "Why not, for the agent" },
  },
  required: ["decision"],
};

const YES =
  /^(?:y|yes|yep|ok|okay|sure|approve[ds]?|allow(?:ed)?|accept(?:ed)?|confirm(?:ed)?|proceed|go ahead)[.!]?$/i;
const NO = /^(?:n|no|nope|deny|denied|reject(?:ed)?|refuse[ds]?|decline[ds]?|cancel|stop|don'?t)[.!]?$/i;

/** The message of a task that waits: the question in words, and the shape of its answer as data. */
export function questionMessage(approval: ApprovalRequest, identity: TaskIdentity, place = ""): Message {
  const { approvalId, kind, tool, title, input, schema } = approval;
  const answer = kind === "question" ? schema : DECISION_SCHEMA;
  // The question's arguments are shown: who decides must know about what.
  const data = {
    approvalId,
    kind,
    ...defined({ tool, input: kind === "question" ? undefined : input, schema: answer }),
  };
  const id = place === "" ? approvalId : `${approvalId}-${place}`;
  return agentMessage(id, identity, [textPart(title), dataPart(data)]);
}

/** What a caller's message says to a question. */
export interface CallerAnswer {
  readonly approval: ApprovalRequest;
  readonly decision: ApprovalDecision;
}

/**
 * Reads an answer. Data may name the question by `approvalId`, otherwise the oldest is meant. Words that are neither a clear yes nor
 * a clear no are never consent: they refuse, and the agent is told them.
 */
export function readAnswer(
  message: Message,
  questions: readonly ApprovalRequest[],
): CallerAnswer | undefined {
  const data = message.parts.flatMap(({ content }) =>
    content?.$case === "data" && isJson(content.value) ? [content.value] : [],
  )[0];
  const text = message.parts
    .flatMap(({ content }) => (content?.$case === "text" ? [content.value] : []))
    .join("\n")
    .trim();
  const approval =
    data?.approvalId === undefined
      ? questions[0]
      : questions.find(({ approvalId }) => approvalId === data.approvalId);
  if (approval === undefined) return undefined;
  return { approval, decision: decide(approval, data, text) };
}

function decide(approval: ApprovalRequest, data: Json | undefined, text: string): ApprovalDecision {
  const said = data?.decision;
  if (said === "deny") return { decision: "deny", ...defined({ message: words(data?.message) }) };
  if (said === "approve") return { decision: "approve", ...defined({ input: data?.input }) };
  if (approval.kind === "question") {
    if (data === undefined) return { decision: "approve", input: answerOf(text, approval.schema) };
    const { approvalId: _named, ...input } = data;
    return { decision: "approve", input };
  }
  if (YES.test(text)) return { decision: "approve" };
  if (NO.test(text) || text === "") return { decision: "deny" };
  return { decision: "deny", message: text };
}

/** Words as the one field that a form of one question has. */
function answerOf(text: string, schema: unknown): unknown {
  const properties = isJson(schema) && isJson(schema.properties) ? Object.keys(schema.properties) : [];
  const [name] = properties;
  return name === undefined ? text : Object.fromEntries(properties.map((property) => [property, text]));
}

function words(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.slice(0, 10_000) : undefined;
}

type Json = Readonly<Record<string, unknown>>;

function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
