import { z } from "zod";
import { defined } from "../../core/defined.js";
import { errorText, TroupeError } from "../../core/errors.js";
import type { UserMessage } from "../../core/run-event.js";
import type { ThreadChoice } from "../../core/thread.js";
import { compactHistory } from "./history.js";

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
  .regex(/^[^\p{Cc}\p{Surrogate}]*$/u, "must not hold control characters, or halves of characters");

const runInput = z.looseObject({
  threadId: identifier,
  runId: identifier,
  protocolVersion: z.string().max(32).optional(),
  messages: z.array(message).max(100_000).default([]),
  forwardedProps: z.unknown().optional(),
});

const threadChoice = z
  .strictObject({
    mode: z.enum(["continue", "resume", "fork", "new"]).optional(),
    from: identifier.optional(),
  })
  .refine(({ mode, from }) => from === undefined || mode === "fork", {
    path: ["from"],
    error: 'is for the mode "fork" only',
  });

/** Clients that know nothing of `subagentRunId` drop it; the ids of the `native` encoding tell all the same. */
const SUBAGENT_MESSAGE = /^del-[^/]+\//;

/** Messages that are nobody's words. */
const SIDE_ROLES = new Set(["activity", "system", "developer"]);

/** What a host takes from an AG-UI `RunAgentInput`. */
export interface RunInput {
  readonly threadId: string;
  readonly runId: string;
  readonly protocolVersion?: string;
  /** The person's messages that no agent has answered yet, oldest first. */
  readonly messages: readonly UserMessage[];
  /** What the client says was said before them, made compact. */
  readonly history?: string;
  /** Which conversation to go on with; `threadFrom` is a thread's id. */
  readonly choice: ThreadChoice;
  /** What another host says of what led here; not looked at yet. */
  readonly origin?: unknown;
}

/**
 * Parses the body of `POST /agents/:agent/run`. Of the messages that a client sends along only the last words of the person are
 * the prompt: the agent keeps its own conversation. Those before them are for an agent that has none. What subagents said must
 * never reach it.
 * @throws TroupeError `invalid_input` naming the field.
 */
export function parseRunInput(body: unknown): RunInput {
  const parsed = runInput.safeParse(body);
  if (!parsed.success) throw new TroupeError("invalid_input", describe(parsed.error));
  const { threadId, runId, protocolVersion, forwardedProps } = parsed.data;
  const messages: UserMessage[] = [];
  const own = parsed.data.messages.filter(
    ({ id, role, subagentRunId }) =>
      subagentRunId === undefined && !SIDE_ROLES.has(role) && !SUBAGENT_MESSAGE.test(id ?? ""),
  );
  const earlier = own.slice(0, own.findLastIndex(({ role }) => role !== "user") + 1);
  for (const { id, role, content } of own.toReversed()) {
    if (role !== "user") break;
    const text = textOf(content);
    if (text.trim() !== "") messages.unshift({ id: id ?? `${runId}-message-${messages.length + 1}`, text });
  }
  const history = compactHistory(earlier.map(({ role, content }) => ({ role, text: textOf(content) })));
  const choice = choiceOf(forwardedProps);
  const origin = memberOf(forwardedProps, "troupe");
  return { threadId, runId, messages, choice, ...defined({ protocolVersion, history, origin }) };
}

function textOf(content: z.infer<typeof message>["content"]): string {
  return typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("");
}

/** `forwardedProps` is anybody's; only `troupe` in it is ours. */
function choiceOf(forwardedProps: unknown): ThreadChoice {
  const given = memberOf(memberOf(forwardedProps, "troupe"), "thread");
  if (given === undefined || given === null) return {};
  const parsed = threadChoice.safeParse(given);
  if (!parsed.success)
    throw new TroupeError("invalid_input", `forwardedProps.troupe.thread.${describe(parsed.error)}`);
  const { mode, from } = parsed.data;
  return defined({ threadMode: mode, threadFrom: from });
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}

function describe(error: z.ZodError): string {
  const [issue] = error.issues;
  return issue === undefined ? errorText(error) : `${issue.path.join(".") || "body"}: ${issue.message}`;
}
