import type { RemoteSignal } from "../../delegation/remote.js";
import { capText, safeId } from "../http/words.js";
import { callOf } from "./conversation.js";
import { contentText, idIn, isJson, type Json } from "./json.js";

/** A call that the agent made and nobody has answered yet. */
export interface OpenCall {
  readonly toolCallId: string;
  readonly name: string;
  readonly args: string;
}

interface Call {
  readonly shownId: string;
  readonly name: string;
  args: string;
  phase: "arguments" | "called" | "answered";
}

/** Characters of arguments that a question quotes. */
const MAX_QUOTED_ARGUMENTS = 2_000;

/** The tools that the agent uses itself: each call and each result is told once. */
export class Tools {
  readonly #calls = new Map<string, Call>();
  /** Calls that ended without a result, and after which the agent has not spoken. */
  readonly #open = new Set<string>();
  #current: string | undefined;

  /** @param label goes before the tool's name, for tools of the agent's own subagents. */
  start(id: string, name: string, label = ""): RemoteSignal[] {
    this.#current = id;
    if (this.#calls.has(id)) return [];
    const call: Call = { shownId: safeId(id), name, args: "", phase: "arguments" };
    this.#calls.set(id, call);
    if (label === "") this.#open.add(id);
    return [{ type: "tool.start", toolCallId: call.shownId, name: label + capText(name, 200) }];
  }

  args(id: string | undefined, delta: string): RemoteSignal[] {
    const own = id ?? this.#current;
    const call = own === undefined ? undefined : this.#calls.get(own);
    if (call?.phase !== "arguments" || delta === "") return [];
    if (call.args.length < MAX_QUOTED_ARGUMENTS) call.args += delta;
    return [{ type: "tool.args", toolCallId: call.shownId, delta }];
  }

  end(id: string): RemoteSignal[] {
    const call = this.#calls.get(id);
    if (call?.phase !== "arguments") return [];
    call.phase = "called";
    return [{ type: "tool.end", toolCallId: call.shownId }];
  }

  /** A piece of a call that has no lifecycle of its own. */
  chunk(event: Json, label: string): RemoteSignal[] {
    const id = idIn(event, "toolCallId") ?? this.#current;
    if (id === undefined) return [];
    const name = idIn(event, "toolCallName");
    const delta = event.delta;
    const signals: RemoteSignal[] = [];
    if (!this.#calls.has(id) && name !== undefined) {
      signals.push(...this.endChunks(), ...this.start(id, name, label));
    }
    if (typeof delta === "string") signals.push(...this.args(id, delta));
    return signals;
  }

  /** The run goes on with something else: pieces of a call end so. */
  endChunks(): RemoteSignal[] {
    const current = this.#current;
    this.#current = undefined;
    return current === undefined ? [] : this.end(current);
  }

  result(id: string, event: Json): RemoteSignal[] {
    const signals: RemoteSignal[] = [];
    // The call itself may have been in a part of the thread that nobody saw.
    if (!this.#calls.has(id)) signals.push(...this.start(id, "tool"));
    signals.push(...this.end(id));
    const call = this.#calls.get(id);
    this.#open.delete(id);
    if (call === undefined || call.phase === "answered") return signals;
    call.phase = "answered";
    const isError = event.isError === true || (isJson(event.metadata) && event.metadata.isError === true);
    const content = contentText(event.content);
    return [...signals, { type: "tool.result", toolCallId: call.shownId, content, isError }];
  }

  /** Whether a call of this id was told. */
  knows(id: string): boolean {
    return this.#calls.has(id);
  }

  /** The agent speaks: whatever it called, it does not wait for it. */
  spoke(): void {
    this.#open.clear();
  }

  /** The calls that nobody answered. */
  get open(): OpenCall[] {
    return [...this.#open].flatMap((toolCallId) => {
      const call = this.#calls.get(toolCallId);
      return call === undefined ? [] : [{ toolCallId, name: call.name, args: call.args }];
    });
  }

  /** A call by its id, whether it was answered or not. */
  call(toolCallId: string): OpenCall | undefined {
    const call = this.#calls.get(toolCallId);
    return call && { toolCallId, name: call.name, args: call.args };
  }

  /** Calls and results that only a snapshot of the messages tells of. */
  snapshot(messages: readonly Json[]): RemoteSignal[] {
    const signals: RemoteSignal[] = [];
    for (const message of messages) {
      for (const { id, name, args } of Array.isArray(message.toolCalls)
        ? message.toolCalls.flatMap(callOf)
        : []) {
        if (this.#calls.has(id)) continue;
        signals.push(...this.start(id, name), ...this.args(id, args), ...this.end(id));
      }
      const answered = message.role === "tool" ? idIn(message, "toolCallId") : undefined;
      if (answered !== undefined && this.#calls.get(answered)?.phase !== "answered")
        signals.push(...this.result(answered, message));
    }
    return signals;
  }
}
