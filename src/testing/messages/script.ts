import type { ModelScript } from "../model-server.js";

/** One block that the scripted model says. */
export type MessagesBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string }
  | {
      readonly type: "tool_use";
      /** Made up when absent. */
      readonly id?: string;
      readonly name: string;
      readonly input: Readonly<Record<string, unknown>>;
    };

/** How the scripted server answers one request. */
export type MessagesReply =
  /** `stall`: the stream stays open and silent after these blocks, without its last block's end. */
  | { readonly content: readonly MessagesBlock[]; readonly stopReason?: string; readonly stall?: boolean }
  | { readonly error: { readonly status: number; readonly type?: string; readonly message?: string } }
  /** Never answers. */
  | { readonly hang: true };

/** A tool result as the model was shown it. */
export interface SeenToolResult {
  readonly toolUseId: string;
  readonly content: unknown;
  /** `content` as one text. */
  readonly text: string;
  readonly isError: boolean;
}

/** What the model was shown in one request. */
export interface Conversation {
  /** The text of the last message of the person that is not only tool results. */
  readonly prompt: string;
  /** Results in the last message of the user, in its order. Empty when it is a prompt. */
  readonly toolResults: readonly SeenToolResult[];
  /** How many messages the model has sent so far. */
  readonly replies: number;
  /** Names of the tools that are offered. */
  readonly tools: readonly string[];
  readonly system: string;
  /** The request's body, verbatim. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Replies in order of the requests, or a function of what the model sees. A list that has run out answers "Done.". */
export type MessagesScript = ModelScript<Conversation, MessagesReply>;

/** Reads a request's body into what matters to a script. Anything malformed reads as absent. */
export function readConversation(body: unknown): Conversation {
  const request = asRecord(body);
  const messages = asArray(request.messages).map(asRecord);
  const people = messages.filter((message) => message.role === "user");
  // Claude Code adds messages of role "system" behind the last one of the user.
  const last = blocksOf(people.at(-1));
  const prompt = people.findLast((message) => textOf(blocksOf(message)) !== "");
  return {
    prompt: textOf(blocksOf(prompt)),
    toolResults: last.flatMap((block) => {
      if (block.type !== "tool_result") return [];
      const { tool_use_id: id, content } = block;
      return [
        {
          toolUseId: typeof id === "string" ? id : "",
          content,
          text: typeof content === "string" ? content : textOf(asArray(content).map(asRecord)),
          isError: block.is_error === true,
        },
      ];
    }),
    replies: messages.filter((message) => message.role === "assistant").length,
    tools: asArray(request.tools).flatMap((tool) => {
      const name = asRecord(tool).name;
      return typeof name === "string" ? [name] : [];
    }),
    system:
      typeof request.system === "string" ? request.system : textOf(asArray(request.system).map(asRecord)),
    body: request,
  };
}

function blocksOf(message: Record<string, unknown> | undefined): Record<string, unknown>[] {
  const content = message?.content;
  if (typeof content === "string") return [{ type: "text", text: content }];
  return asArray(content).map(asRecord);
}

function textOf(blocks: readonly Record<string, unknown>[]): string {
  return blocks
    .flatMap((block) => (block.type === "text" && typeof block.text === "string" ? [block.text] : []))
    .join("\n");
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
