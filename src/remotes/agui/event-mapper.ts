import { defined } from "../../core/defined.js";
import type { RemoteInput, RemoteSignal } from "../../delegation/remote.js";
import { capText, MAX_CLOSING_TEXT, MAX_STATUS_TEXT, safeId } from "../http/words.js";
import { Conversation } from "./conversation.js";
import {
  customInterrupt,
  type Interrupt,
  interruptsOf,
  questionOf,
  type Resumption,
  resumptionOf,
  toolInterrupt,
} from "./interrupts.js";
import { idIn, isJson, type Json, textIn } from "./json.js";
import { Subagents } from "./nested.js";
import { StateFile } from "./state-file.js";
import { messagesSince, Texts } from "./texts.js";
import { Tools } from "./tools.js";

/** Options of {@link EventMapper}. */
export interface EventMapperOptions {
  /** The id of the message that carries the task. */
  readonly messageId: string;
  readonly conversation?: Conversation;
  /** The state that the run is given; there when the agent's state becomes a file. */
  readonly state?: unknown;
  /** What calls without a result at the end of a run mean. */
  readonly unansweredTools?: "ask" | "complete";
}

/** How a run ended, as far as it has said so. */
interface Finish {
  readonly outcome?: Json;
  readonly result?: unknown;
}

/** Characters of a custom event's name and value. */
const MAX_CUSTOM_VALUE = 200;

/** Turns the events of one task's runs into signals. It does no I/O; feed it the events in order and {@link end} each stream. */
export class EventMapper {
  readonly #options: EventMapperOptions;
  readonly conversation: Conversation;
  readonly #texts = new Texts();
  readonly #tools = new Tools();
  readonly #subagents = new Subagents(this.#tools);
  readonly #state: StateFile | undefined;
  #over = false;
  #heard = false;
  #finish: Finish | undefined;
  #custom: Interrupt | undefined;
  #waitsFor: readonly Interrupt[] = [];
  #thoughts = 0;
  #lastStatus = "";

  constructor(options: EventMapperOptions) {
    this.#options = options;
    this.conversation = options.conversation ?? new Conversation();
    if (options.state !== undefined) this.#state = new StateFile(options.state);
  }

  /** A final signal was given; nothing may follow. */
  get over(): boolean {
    return this.#over;
  }

  /** The current run's stream has given an event. */
  get heard(): boolean {
    return this.#heard;
  }

  /** The run waits for an answer. */
  get waits(): boolean {
    return this.#waitsFor.length > 0;
  }

  /**
   * Whether the stream may be left although it is open: `now` when the run has said how it ended, `soon` when it only said that
   * it did, `later` when a tool may still be at work. Some frameworks end each step so, and go on.
   */
  get ending(): "no" | "later" | "soon" | "now" {
    if (this.#over) return "now";
    if (this.#finish === undefined) return "no";
    if (this.#finish.outcome !== undefined) return "now";
    return this.#tools.open.length > 0 ? "later" : "soon";
  }

  /** The agent's state, for the next run. */
  get state(): unknown {
    return this.#state?.value;
  }

  /** The answer in the shapes that servers want; the next run of the task is about to begin. */
  resume(input: RemoteInput): Resumption {
    return resumptionOf(this.#waitsFor, input);
  }

  /** The server took the answer. */
  resumed({ results }: Resumption): void {
    for (const { toolCallId, content } of results)
      this.conversation.result(`${toolCallId}-result`, toolCallId, content);
    this.#waitsFor = [];
    this.#custom = undefined;
    this.#finish = undefined;
    this.#heard = false;
    this.#texts.nextLeg();
    this.#tools.spoke();
  }

  /** The signals of one event. What is not understood gives none. */
  map(event: unknown): RemoteSignal[] {
    if (this.#over || !isJson(event)) return [];
    const type = idIn(event, "type");
    if (type === undefined) return [];
    this.#heard = true;
    if (type.startsWith("SUBAGENT_")) return this.#subagents.event(type, event);
    const { subagentRunId = null } = event;
    // Whatever claims to be a subagent's is none of the agent's own words.
    if (subagentRunId !== null && subagentRunId !== "")
      return this.#subagents.content(typeof subagentRunId === "string" ? subagentRunId : "", type, event);
    return this.#event(type, event);
  }

  /** The stream of a run has ended, properly or by our own doing after it had said that it was finished. */
  end(): RemoteSignal[] {
    const finish = this.#finish;
    if (this.#over || finish === undefined) return [];
    const state = this.#state?.changed() ?? [];
    const kind = finish.outcome?.type;
    if (kind === "cancelled") return this.#last([...state, { type: "cancelled" }]);
    this.#waitsFor = this.#questions(finish);
    if (this.#waitsFor.length > 0)
      return [...state, { type: "input_required", ...questionOf(this.#waitsFor) }];
    const message = this.#texts.last === "" ? closingWords(finish.result) : undefined;
    return this.#last([...state, { type: "completed", ...defined({ message }) }]);
  }

  #event(type: string, event: Json): RemoteSignal[] {
    if (type.startsWith("TEXT_MESSAGE_")) return this.#text(type, event);
    if (type.startsWith("TOOL_CALL_")) return this.#tool(type, event);
    if (type.startsWith("REASONING_") || type.startsWith("THINKING_")) return this.#thought(type, event);
    switch (type) {
      case "RUN_STARTED":
        // What frameworks send between two steps of one task.
        this.#finish = undefined;
        return [];
      case "RUN_FINISHED":
        return this.#finished(event);
      case "RUN_ERROR": {
        const message = textIn(event, "message");
        const remoteStatus = capText(idIn(event, "code") ?? "failed", 64);
        const words =
          message === undefined || message.trim() === "" ? undefined : capText(message, MAX_CLOSING_TEXT);
        return this.#last([{ type: "failed", remoteStatus, ...defined({ message: words }) }]);
      }
      case "MESSAGES_SNAPSHOT":
        return this.#snapshot(event);
      case "STATE_SNAPSHOT":
        this.#state?.replace(event.snapshot);
        return [];
      case "STATE_DELTA":
        this.#state?.patch(event.delta);
        return [];
      case "ACTIVITY_SNAPSHOT":
        return this.#activity(event);
      case "CUSTOM":
        return this.#customEvent(event);
      default:
        return [];
    }
  }

  #text(type: string, event: Json): RemoteSignal[] {
    const id = idIn(event, "messageId");
    const role = textIn(event, "role");
    switch (type) {
      case "TEXT_MESSAGE_START":
        this.#texts.start(id, role);
        return this.#tools.endChunks();
      case "TEXT_MESSAGE_CONTENT":
      case "TEXT_MESSAGE_CHUNK": {
        const said = this.#texts.content(id, textIn(event, "delta") ?? "", role);
        this.#hear(said, id);
        return said.length === 0 ? said : [...this.#tools.endChunks(), ...said];
      }
      default:
        this.#texts.end(id);
        return [];
    }
  }

  /** Keeps what was said for the next run, and notes that the run goes on. */
  #hear(said: readonly RemoteSignal[], id: string | undefined): void {
    for (const signal of said) {
      if (signal.type !== "text") continue;
      this.conversation.say(id ?? signal.messageId, signal.delta);
      if (signal.delta.trim() !== "") this.#tools.spoke();
      this.#goesOn();
    }
  }

  #tool(type: string, event: Json): RemoteSignal[] {
    const id = idIn(event, "toolCallId");
    if (type === "TOOL_CALL_CHUNK") {
      this.#goesOn();
      const name = idIn(event, "toolCallName");
      if (id !== undefined && name !== undefined)
        this.conversation.call(id, name, idIn(event, "parentMessageId"));
      if (id !== undefined) this.conversation.argue(id, textIn(event, "delta") ?? "");
      return this.#tools.chunk(event, "");
    }
    if (id === undefined) return [];
    switch (type) {
      case "TOOL_CALL_START": {
        const name = idIn(event, "toolCallName");
        if (name === undefined) return [];
        this.#goesOn();
        this.conversation.call(id, name, idIn(event, "parentMessageId"));
        return this.#tools.start(id, name);
      }
      case "TOOL_CALL_ARGS": {
        const delta = textIn(event, "delta") ?? "";
        if (!this.#tools.knows(id)) return [];
        const signals = this.#tools.args(id, delta);
        // A call that is told once more, as after an interrupt, is no longer.
        if (signals.length > 0) this.conversation.argue(id, delta);
        return signals;
      }
      case "TOOL_CALL_END":
        return this.#tools.end(id);
      case "TOOL_CALL_RESULT": {
        this.#goesOn();
        const signals = this.#tools.result(id, event);
        const result = signals.find((signal) => signal.type === "tool.result");
        if (result?.type === "tool.result")
          this.conversation.result(idIn(event, "messageId") ?? `${id}-result`, id, result.content);
        return signals;
      }
      default:
        return [];
    }
  }

  /** A `RUN_FINISHED` without an outcome was only that of a step. */
  #goesOn(): void {
    if (this.#finish !== undefined && this.#finish.outcome === undefined) this.#finish = undefined;
  }

  #thought(type: string, event: Json): RemoteSignal[] {
    if (type === "THINKING_TEXT_MESSAGE_START" || type === "THINKING_START") this.#thoughts++;
    const said = /^(?:REASONING_MESSAGE|THINKING_TEXT_MESSAGE)_(?:CONTENT|CHUNK)$/.test(type);
    const delta = textIn(event, "delta");
    if (!said || delta === undefined || delta === "") return [];
    this.#goesOn();
    const id = idIn(event, "messageId");
    return [
      { type: "reasoning", messageId: id === undefined ? `thought-${this.#thoughts}` : safeId(id), delta },
    ];
  }

  #finished(event: Json): RemoteSignal[] {
    const outcome = isJson(event.outcome) ? event.outcome : undefined;
    // The first word about how a run ended stays.
    if (this.#finish?.outcome === undefined) this.#finish = { result: event.result, ...defined({ outcome }) };
    return this.#tools.endChunks();
  }

  #questions({ outcome }: Finish): Interrupt[] {
    if (outcome?.type === "interrupt") {
      const interrupts = interruptsOf(outcome, (id) => this.#tools.call(id));
      // The same question comes twice from servers that speak both ways.
      if (interrupts.length > 0) return interrupts.length === 1 ? this.#joined(interrupts) : interrupts;
    }
    if (this.#custom !== undefined) return [this.#custom];
    if (this.#options.unansweredTools === "complete") return [];
    return this.#tools.open.map(toolInterrupt);
  }

  #joined(interrupts: Interrupt[]): Interrupt[] {
    const [only] = interrupts;
    if (only === undefined || this.#custom === undefined) return interrupts;
    return [{ ...only, custom: true }];
  }

  #snapshot({ messages }: Json): RemoteSignal[] {
    if (!Array.isArray(messages)) return [];
    const news = messagesSince(messages, this.#options.messageId);
    const said = this.#texts.snapshot(news);
    // A snapshot without the person's words is no history.
    if (messages.some((message) => isJson(message) && message.role === "user"))
      this.conversation.replace(messages);
    else this.#hear(said, undefined);
    if (said.length > 0) this.#goesOn();
    const used = this.#tools.snapshot(news);
    // In a snapshot the order is the messages': who spoke last waits for nothing.
    const last = news.findLast(({ role }) => role === "assistant");
    if (last !== undefined && !Array.isArray(last.toolCalls) && said.length > 0) this.#tools.spoke();
    return [...said, ...used];
  }

  #activity(event: Json): RemoteSignal[] {
    const kind = idIn(event, "activityType");
    if (kind === undefined) return [];
    const content = isJson(event.content) ? event.content : {};
    const words = textIn(content, "message") ?? textIn(content, "title") ?? textIn(content, "text");
    return this.#progress(words === undefined ? kind : `${kind}: ${words}`);
  }

  #customEvent(event: Json): RemoteSignal[] {
    const name = idIn(event, "name");
    if (name === undefined) return [];
    const { value } = event;
    if (name === "on_interrupt") {
      this.#custom = customInterrupt(value);
      return [];
    }
    // A Troupe host's agent waits for a person there, who can be asked nowhere else.
    if (name === "approval.requested" && isJson(value))
      return this.#progress(`waits for an approval: ${textIn(value, "title") ?? ""}`);
    const short = typeof value === "string" || typeof value === "number" ? `: ${value}` : "";
    return this.#progress(capText(`${name}${short}`, MAX_CUSTOM_VALUE));
  }

  #progress(message: string): RemoteSignal[] {
    const words = capText(message, MAX_STATUS_TEXT);
    if (words === this.#lastStatus) return [];
    this.#lastStatus = words;
    return [{ type: "status", status: "working", message: words }];
  }

  #last(signals: RemoteSignal[]): RemoteSignal[] {
    this.#over = true;
    return signals;
  }
}

/** The words of a `RUN_FINISHED.result`, of which the protocol says nothing. */
function closingWords(result: unknown): string | undefined {
  const words = isJson(result) ? (textIn(result, "text") ?? textIn(result, "message")) : result;
  return typeof words === "string" && words.trim() !== "" ? capText(words, MAX_CLOSING_TEXT) : undefined;
}
