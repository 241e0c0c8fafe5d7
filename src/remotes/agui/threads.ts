import { type AguiMessage, Conversation } from "./conversation.js";

/** What is kept of a thread between two tasks. */
export interface ThreadMemory {
  readonly messages: readonly AguiMessage[];
  readonly state: unknown;
}

/** Threads that are remembered; older ones begin anew. */
const MAX_THREADS = 50;
/** Characters of one thread's history. */
const MAX_HISTORY = 262_144;

/** The history of threads that may be gone on with: servers that keep nothing need it with every run. */
export class Threads {
  readonly #threads = new Map<string, ThreadMemory>();

  recall(threadId: string): ThreadMemory {
    return this.#threads.get(threadId) ?? { messages: [], state: {} };
  }

  keep(threadId: string, conversation: Conversation, state: unknown): void {
    const kept = new Conversation(conversation.messages);
    kept.trim(MAX_HISTORY);
    this.#threads.delete(threadId);
    const size = JSON.stringify(state)?.length ?? 0;
    this.#threads.set(threadId, { messages: kept.messages, state: size <= MAX_HISTORY ? (state ?? {}) : {} });
    for (const oldest of this.#threads.keys()) {
      if (this.#threads.size <= MAX_THREADS) break;
      this.#threads.delete(oldest);
    }
  }
}
