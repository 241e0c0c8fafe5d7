import type { RunEvent } from "./run-event.js";

/** One thing that the agent said or did, in order. */
export type TranscriptItem =
  | { readonly type: "text"; readonly messageId: string; readonly text: string }
  | { readonly type: "reasoning"; readonly messageId: string; readonly text: string }
  | {
      readonly type: "tool";
      readonly toolCallId: string;
      readonly name: string;
      readonly input: string;
      readonly result?: string;
      readonly isError?: boolean;
    };

interface Draft {
  readonly type: "text" | "reasoning" | "tool";
  readonly id: string;
  readonly name: string;
  readonly pieces: string[];
  result?: string;
  isError?: boolean;
}

/** Folds a run's events into its transcript. Events of native subagents are left out: they are not the run's own words. */
export class Transcript {
  readonly #items: Draft[] = [];
  readonly #open = new Map<string, Draft>();

  observe(event: RunEvent): void {
    if ("parentToolCallId" in event) return;
    switch (event.type) {
      case "text.start":
      case "reasoning.start":
        this.#add(event.type === "text.start" ? "text" : "reasoning", event.messageId, "");
        break;
      case "text.delta":
      case "reasoning.delta":
        this.#open.get(event.messageId)?.pieces.push(event.delta);
        break;
      case "tool.start":
        this.#add("tool", event.toolCallId, event.name);
        break;
      case "tool.args":
        this.#open.get(event.toolCallId)?.pieces.push(event.delta);
        break;
      case "tool.result": {
        const item = this.#open.get(event.toolCallId);
        if (!item) break;
        item.result = event.content;
        item.isError = event.isError;
        break;
      }
    }
  }

  /** Everything so far. */
  items(): TranscriptItem[] {
    return this.#items.map(({ type, id, name, pieces, result, isError }): TranscriptItem => {
      if (type !== "tool") return { type, messageId: id, text: pieces.join("") };
      const call = { type, toolCallId: id, name, input: pieces.join("") };
      return result === undefined ? call : { ...call, result, isError: isError ?? false };
    });
  }

  /** The agent's own words, messages separated by an empty line. */
  text(): string {
    return this.#texts().join("\n\n");
  }

  /** The last message that has words in it, which is how agents sum up. */
  lastText(): string {
    return this.#texts().at(-1) ?? "";
  }

  #texts(): string[] {
    return this.#items
      .filter(({ type }) => type === "text")
      .map(({ pieces }) => pieces.join(""))
      .filter((text) => text.trim() !== "");
  }

  #add(type: "text" | "reasoning" | "tool", id: string, name: string): void {
    const item: Draft = { type, id, name, pieces: [] };
    this.#items.push(item);
    this.#open.set(id, item);
  }
}
