import { z } from "zod";
import { defined } from "../../core/defined.js";
import { errorText, TroupeError } from "../../core/errors.js";
import type { UserMessage } from "../../core/run-event.js";

const part = z.looseObject({ type: z.string(), text: z.string().optional() });

const message = z.looseObject({
  id: z.string().max(256).optional(),
  role: z.string().max(64),
  content: z.union([z.string(), z.array(part), z.null()]).optional(),
  subagentRunId: z.string().optional(),
});

const identifier = z
  .string()
  .min(1)
  .max(256)
  .regex(/^\P{Cc}*$/u, "must not hold control characters");

const runInput = z.looseObject({
  threadId: identifier,
  runId: identifier,
  protocolVersion: z.string().max(32).optional(),
  messages: z.array(message).max(100_000).default([]),
});

/** Messages that are nobody's words. */
const SIDE_ROLES = new Set(["activity", "system", "developer"]);

/** What a host takes from an AG-UI `RunAgentInput`. */
export interface RunInput {
  readonly threadId: string;
  readonly runId: string;
  readonly protocolVersion?: string;
  /** The person's messages that no agent has answered yet, oldest first. */
  readonly messages: readonly UserMessage[];
}

/**
 * Parses the body of `POST /agents/:agent/run`. Of the history that a client sends along only the last words of the person
 * count: the agent keeps its own conversation, and what subagents said must never reach it.
 * @throws TroupeError `invalid_input` naming the field.
 */
export function parseRunInput(body: unknown): RunInput {
  const parsed = runInput.safeParse(body);
  if (!parsed.success) throw new TroupeError("invalid_input", describe(parsed.error));
  const { threadId, runId, protocolVersion } = parsed.data;
  const messages: UserMessage[] = [];
  const own = parsed.data.messages.filter(
    ({ role, subagentRunId }) => subagentRunId === undefined && !SIDE_ROLES.has(role),
  );
  for (const { id, role, content } of own.toReversed()) {
    if (role !== "user") break;
    const text =
      typeof content === "string" ? content : (content ?? []).map(({ text: words }) => words ?? "").join("");
    if (text.trim() !== "") messages.unshift({ id: id ?? `${runId}-message-${messages.length + 1}`, text });
  }
  return { threadId, runId, messages, ...defined({ protocolVersion }) };
}

function describe(error: z.ZodError): string {
  const [issue] = error.issues;
  return issue === undefined ? errorText(error) : `${issue.path.join(".") || "body"}: ${issue.message}`;
}
