import type { RemoteSignal } from "../../delegation/remote.js";

/** Names of tasks and conversations that had to be changed; a remote must not fill the memory with them. */
const MAX_CHANGED_IDS = 1_000;

/**
 * Keeps an entry's credential out of everything that a remote says about itself and its work: names, ids, statuses, questions,
 * errors, its card, and results of tools. What comes in pieces is looked after by the {@link ContentVeil} of each task.
 */
export class Veil {
  /** What was shown, and what the remote really calls it. */
  readonly #real = new Map<string, string>();

  constructor(private readonly redact: (text: string) => string) {}

  /** A signal as it may be shown. */
  signal(signal: RemoteSignal): RemoteSignal {
    switch (signal.type) {
      case "accepted":
        return {
          type: "accepted",
          ...(signal.taskId === undefined ? {} : { taskId: this.#id(signal.taskId) }),
          ...(signal.contextId === undefined ? {} : { contextId: this.#id(signal.contextId) }),
        };
      case "text":
      case "reasoning":
        return { ...signal, messageId: this.redact(signal.messageId) };
      case "tool.start":
        return { ...signal, toolCallId: this.redact(signal.toolCallId), name: this.redact(signal.name) };
      case "tool.args":
      case "tool.end":
        return { ...signal, toolCallId: this.redact(signal.toolCallId) };
      case "artifact": {
        const { bytes, ...named } = signal.chunk;
        return { type: "artifact", chunk: { ...this.value(named), bytes } };
      }
      default:
        return this.value(signal);
    }
  }

  /** What a card says. A skill whose id would have to change is left out: it could not be called. */
  card<Card extends { readonly skills: readonly { readonly id: string }[] }>(card: Card): Card {
    return this.value({ ...card, skills: card.skills.filter(({ id }) => this.redact(id) === id) });
  }

  /** The remote's own name of what was shown as `shown`. */
  real(shown: string): string {
    return this.#real.get(shown) ?? shown;
  }

  /** JSON with every string in it redacted, keys included. What needs no change is the same value. */
  value<T>(value: T): T {
    return this.#json(value) as T;
  }

  #json(value: unknown): unknown {
    if (typeof value === "string") return this.redact(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#json(item));
      return items.every((item, index) => item === value[index]) ? value : items;
    }
    const members = Object.entries(value).map(([key, item]) => [this.redact(key), this.#json(item)] as const);
    const before = new Map<string, unknown>(Object.entries(value));
    if (members.every(([key, item]) => before.has(key) && before.get(key) === item)) return value;
    return Object.fromEntries(members);
  }

  #id(id: string): string {
    const shown = this.redact(id);
    if (shown === id) return id;
    this.#real.set(shown, id);
    for (const oldest of this.#real.keys()) {
      if (this.#real.size <= MAX_CHANGED_IDS) break;
      this.#real.delete(oldest);
    }
    return shown;
  }
}
