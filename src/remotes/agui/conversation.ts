import { contentText, idIn, isJson, type Json } from "./json.js";

/** A message as it goes to a server. */
export type AguiMessage = Readonly<Record<string, unknown>> & { readonly id: string; readonly role: string };

interface Call {
  readonly id: string;
  readonly name: string;
  args: string;
}

interface Entry {
  readonly id: string;
  readonly role: string;
  content: unknown;
  readonly calls: Call[];
  /** Members that only the server knows. */
  readonly more: Json;
}

/**
 * What was said in a thread so far. Servers that keep nothing need the whole of it with every run, and an interrupt can be answered
 * only with the calls that led to it.
 */
export class Conversation {
  #entries = new Map<string, Entry>();
  #calls = new Map<string, Call>();

  constructor(messages: readonly AguiMessage[] = []) {
    this.replace(messages);
  }

  get messages(): AguiMessage[] {
    return [...this.#entries.values()].map(({ id, role, content, calls, more }) => ({
      ...more,
      id,
      role,
      ...(content === undefined ? {} : { content }),
      ...(calls.length === 0
        ? {}
        : {
            toolCalls: calls.map(({ id: callId, name, args }) => ({
              id: callId,
              type: "function",
              function: { name, arguments: args },
            })),
          }),
    }));
  }

  /** The person's words, or those of whoever asks in their place. */
  ask(id: string, content: unknown): void {
    this.#entries.set(id, { id, role: "user", content, calls: [], more: {} });
  }

  say(id: string, delta: string): void {
    const entry = this.#assistant(id);
    entry.content = contentText(entry.content) + delta;
  }

  call(id: string, name: string, parentMessageId: string | undefined): void {
    if (this.#calls.has(id)) return;
    const call = { id, name, args: "" };
    this.#calls.set(id, call);
    this.#assistant(parentMessageId ?? `${id}-call`).calls.push(call);
  }

  argue(id: string, delta: string): void {
    const call = this.#calls.get(id);
    if (call !== undefined) call.args += delta;
  }

  result(id: string, toolCallId: string, content: string): void {
    // Some servers give the result the id of the message that called.
    const own = this.#entries.has(id) ? `${toolCallId}-result` : id;
    this.#entries.set(own, { id: own, role: "tool", content, calls: [], more: { toolCallId } });
  }

  /** The server says what the thread holds. What belongs to a subagent of its own is none of the thread's history. */
  replace(messages: readonly unknown[]): void {
    this.#entries = new Map();
    this.#calls = new Map();
    for (const message of messages) {
      if (!isJson(message) || message.subagentRunId !== undefined) continue;
      const id = idIn(message, "id");
      const role = idIn(message, "role");
      if (id === undefined || role === undefined || role === "activity") continue;
      const { id: _id, role: _role, content, toolCalls, ...more } = message;
      const calls = (Array.isArray(toolCalls) ? toolCalls : []).flatMap((call): Call[] => callOf(call));
      for (const call of calls) this.#calls.set(call.id, call);
      this.#entries.set(id, { id, role, content, calls, more });
    }
  }

  /** Forgets the oldest turns until what is left has at most `limit` characters. */
  trim(limit: number): void {
    const entries = [...this.#entries.values()];
    let size = 0;
    let keep = entries.length;
    for (let index = entries.length - 1; index >= 0; index--) {
      const entry = entries[index];
      size += JSON.stringify([entry?.content, entry?.calls, entry?.more]).length;
      if (size > limit) break;
      // A turn begins with the person; half of one would be calls without results.
      if (entry?.role === "user") keep = index;
    }
    for (const { id } of entries.slice(0, keep)) this.#entries.delete(id);
  }

  #assistant(id: string): Entry {
    const known = this.#entries.get(id);
    if (known?.role === "assistant") return known;
    const own = known === undefined ? id : `${id}-assistant`;
    const entry = this.#entries.get(own) ?? {
      id: own,
      role: "assistant",
      content: undefined,
      calls: [],
      more: {},
    };
    this.#entries.set(own, entry);
    return entry;
  }
}

/** A call within an assistant's message. */
export function callOf(call: unknown): { id: string; name: string; args: string }[] {
  if (!isJson(call) || !isJson(call.function)) return [];
  const id = idIn(call, "id");
  const name = idIn(call.function, "name");
  if (id === undefined || name === undefined) return [];
  const { arguments: args } = call.function;
  return [{ id, name, args: typeof args === "string" ? args : JSON.stringify(args ?? {}) }];
}
