import type { RemoteSignal } from "../../delegation/remote.js";
import { safeId } from "../http/words.js";
import { contentText, idIn, isJson, type Json } from "./json.js";

interface Text {
  /** Which of the task's runs it belongs to. */
  readonly leg: number;
  readonly messageId: string;
  /** Whether the agent says it; other roles are echoes. */
  readonly spoken: boolean;
  said: string;
  /** Nothing but white space was said so far. */
  blank: boolean;
}

/** What the agent says, told once, whether it is streamed or only stands in a snapshot of the messages. */
export class Texts {
  readonly #texts = new Map<string, Text>();
  #leg = 1;
  #unnamed = 0;
  /** The message that pieces without a name belong to. */
  #current: string | undefined;

  /** Everything of the current run, joined. */
  #said = "";

  #last: Text | undefined;

  /** The text of the last message that says anything. */
  get last(): string {
    return this.#last?.said ?? "";
  }

  /** A new run of the same task begins. */
  nextLeg(): void {
    this.#leg++;
    this.#said = "";
    this.#current = undefined;
  }

  start(id: string | undefined, role: string | undefined): void {
    this.#current = id ?? this.#unnamedId();
    const known = this.#texts.get(this.#current);
    // Some servers count their messages anew with each run.
    if (known === undefined || known.leg !== this.#leg) this.#create(this.#current, role);
  }

  content(id: string | undefined, delta: string, role?: string): RemoteSignal[] {
    this.#current = id ?? this.#current ?? this.#unnamedId();
    const text = this.#texts.get(this.#current) ?? this.#create(this.#current, role);
    return this.#say(text, delta);
  }

  end(id: string | undefined): void {
    if (id === undefined || id === this.#current) this.#current = undefined;
  }

  /** What `messages`, which follow the task's own, say beyond what was heard. */
  snapshot(messages: readonly Json[]): RemoteSignal[] {
    const named = new Set(messages.map(({ id }) => id));
    const signals: RemoteSignal[] = [];
    for (const message of messages) {
      const id = idIn(message, "id");
      const content = contentText(message.content);
      if (id === undefined || message.role !== "assistant" || content.trim() === "") continue;
      const text = this.#texts.get(id) ?? this.#alias(id, content, named);
      if (text === undefined) {
        // Streamed under one name, stored under several.
        if (this.#said.includes(content.trim())) continue;
        signals.push(...this.#say(this.#create(id, "assistant"), content));
      } else if (content.startsWith(text.said)) {
        signals.push(...this.#say(text, content.slice(text.said.length)));
      }
    }
    return signals;
  }

  /** Frameworks store a message under another name than they streamed it with. */
  #alias(id: string, content: string, named: ReadonlySet<unknown>): Text | undefined {
    for (const [known, text] of this.#texts) {
      if (named.has(known) || text.blank || !text.spoken) continue;
      if (!content.startsWith(text.said) && !text.said.startsWith(content)) continue;
      this.#texts.set(id, text);
      return text;
    }
    return undefined;
  }

  #say(text: Text, delta: string): RemoteSignal[] {
    if (delta === "" || !text.spoken) return [];
    text.said += delta;
    this.#said += delta;
    // Only the piece is looked at: to look at all of a text that grows costs more with each of its pieces.
    if (text.blank && delta.trim() !== "") text.blank = false;
    if (!text.blank) this.#last = text;
    return [{ type: "text", messageId: text.messageId, delta }];
  }

  #create(id: string, role: string | undefined): Text {
    const known = this.#texts.has(id);
    const text: Text = {
      leg: this.#leg,
      messageId: known ? `${safeId(id)}-${this.#leg}` : safeId(id),
      spoken: role === undefined || role === "assistant",
      said: "",
      blank: true,
    };
    this.#texts.set(id, text);
    return text;
  }

  #unnamedId(): string {
    return `message-${++this.#unnamed}`;
  }
}

/** The messages of a snapshot that came after the task's own, without those of the agent's subagents. */
export function messagesSince(messages: readonly unknown[], ownId: string): Json[] {
  const known = messages.filter(isJson);
  const own = known.findLastIndex(({ id }) => id === ownId);
  const asked = own >= 0 ? own : known.findLastIndex(({ role }) => role === "user");
  return known.slice(asked + 1).filter(({ subagentRunId }) => subagentRunId === undefined);
}
