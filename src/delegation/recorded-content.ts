import type { ArtifactDescription, SubagentEvent } from "./events.js";
import type { RemoteSignal } from "./remote.js";

/** Characters of one text that are compared with what is said again. Beyond it a text that is said again is not recognised. */
const MAX_TEXT = 8_000_000;

/** A text of which a part may be said again. */
interface Said {
  readonly text: string;
  /** Characters that were heard again. */
  heard: number;
  /** It went on differently, under this name. */
  apart?: string;
}

/**
 * What the journal has of a delegation's content. A task that is followed anew tells it again, from its beginning: here that is
 * taken out, by message and by prefix.
 */
export class RecordedContent {
  readonly #said = new Map<string, Said>();
  readonly #tools = new Set<string>();
  readonly #ended = new Set<string>();
  readonly #results = new Set<string>();
  readonly #artifacts = new Map<string, Pick<ArtifactDescription, "sha256" | "size">>();

  /** Takes in one of the delegation's events. */
  observe(event: SubagentEvent): void {
    switch (event.type) {
      case "subagent.text.delta":
        return this.#add(`text ${event.messageId}`, event.delta);
      case "subagent.reasoning.delta":
        return this.#add(`reasoning ${event.messageId}`, event.delta);
      case "subagent.tool.start":
        this.#tools.add(event.toolCallId);
        return;
      case "subagent.tool.args":
        return this.#add(`args ${event.toolCallId}`, event.delta);
      case "subagent.tool.end":
        this.#ended.add(event.toolCallId);
        return;
      case "subagent.tool.result":
        this.#results.add(event.toolCallId);
        return;
      case "subagent.artifact":
        if (event.error === undefined) this.#artifacts.set(event.artifact.id, event.artifact);
    }
  }

  /** What of a signal is new; `undefined` when nothing is. */
  fresh(signal: RemoteSignal): RemoteSignal | undefined {
    switch (signal.type) {
      case "text":
      case "reasoning": {
        const { delta, name } = this.#more(`${signal.type} ${signal.messageId}`, signal.delta);
        return delta === "" ? undefined : { ...signal, messageId: name ?? signal.messageId, delta };
      }
      case "tool.start":
        return this.#tools.has(signal.toolCallId) ? undefined : signal;
      case "tool.args": {
        const { delta } = this.#more(`args ${signal.toolCallId}`, signal.delta);
        return delta === "" ? undefined : { ...signal, delta };
      }
      case "tool.end":
        return this.#ended.has(signal.toolCallId) ? undefined : signal;
      case "tool.result":
        return this.#results.has(signal.toolCallId) ? undefined : signal;
      default:
        return signal;
    }
  }

  /** Whether a file is on record already, with the same bytes. */
  has({ id, sha256, size }: ArtifactDescription): boolean {
    const known = this.#artifacts.get(id);
    return known?.sha256 === sha256 && known.size === size;
  }

  #add(key: string, delta: string): void {
    const text = this.#said.get(key)?.text ?? "";
    if (text.length < MAX_TEXT) this.#said.set(key, { text: text + delta, heard: 0 });
  }

  #more(key: string, delta: string): { readonly delta: string; readonly name?: string } {
    const said = this.#said.get(key);
    if (said === undefined) return { delta };
    if (said.apart !== undefined) return { delta, name: said.apart };
    const { text, heard } = said;
    const again = Math.min(delta.length, text.length - heard);
    if (text.startsWith(delta.slice(0, again), heard)) {
      said.heard += again;
      return { delta: delta.slice(again) };
    }
    // It says something else than before, which stays as it was: this is another message, told from its own beginning.
    said.apart = `${key.slice(key.indexOf(" ") + 1)}-again`;
    return { delta: text.slice(0, heard) + delta, name: said.apart };
  }
}
