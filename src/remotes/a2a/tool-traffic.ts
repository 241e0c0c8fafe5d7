import type { Artifact, Part } from "@a2a-js/sdk";
import type { RemoteSignal } from "../../delegation/remote.js";
import { capText, safeId } from "../http/words.js";

/** Characters of a tool's arguments or result. */
const MAX_TOOL_TEXT = 32_000;

/** A tool call that waits for somebody's consent. */
export interface PendingApproval {
  readonly callId: string;
  readonly name: string;
  readonly args: string;
}

type Json = Readonly<Record<string, unknown>>;

/** Extension of artifacts that tell what an agent does beside its answer; those of our own agents, and of a2a-wrapper. */
const TRACE_EXTENSION = "urn:x-a2a:trace:v1";

/** Whether an artifact is no answer but a trace of what the agent does. */
export function isTrace({ extensions }: Artifact): boolean {
  return extensions.includes(TRACE_EXTENSION);
}

/** The thoughts in a trace artifact; `undefined` when it is of another kind. */
export function traceThoughts({ name, parts }: Artifact): string | undefined {
  if (name !== "trace.thinking") return undefined;
  return parts
    .flatMap(({ content }) =>
      content?.$case === "data" && isJson(content.value) ? [content.value.content] : [],
    )
    .filter((content) => typeof content === "string")
    .join("");
}

/** What ADK calls a part that is no answer: `thought`, `function_call` or `function_response`. */
export function adkKind(part: Part): string | undefined {
  const { metadata } = part;
  if (metadata === undefined) return undefined;
  if (metadata.adk_thought === true) return "thought";
  const type = metadata.adk_type;
  return part.content?.$case === "data" && (type === "function_call" || type === "function_response")
    ? type
    : undefined;
}

/** Turns the tool traffic that remotes send as data parts into tool signals, each call once. */
export class ToolTraffic {
  /** @param redact removes credentials from ids */
  constructor(private readonly redact: (text: string) => string) {}

  readonly #started = new Set<string>();
  readonly #argued = new Set<string>();
  readonly #ended = new Set<string>();
  #pending: PendingApproval | undefined;

  /** A call that waits for consent, as the remote last said. */
  get pending(): PendingApproval | undefined {
    return this.#pending;
  }

  /** The consent was given or refused. */
  settled(): void {
    this.#pending = undefined;
  }

  /** Whether an artifact is the screen of a tool whose result comes anyway. */
  isScreen(artifactId: string): boolean {
    const call = /^tool-(.+)-output$/.exec(artifactId)?.[1];
    return call !== undefined && this.#started.has(call);
  }

  /** A part of ADK's: `function_call` or `function_response`. */
  adk(part: Part, kind: string): RemoteSignal[] {
    const data = part.content?.$case === "data" ? part.content.value : undefined;
    if (!isJson(data)) return [];
    const name = typeof data.name === "string" ? data.name : "tool";
    const id = typeof data.id === "string" && data.id !== "" ? data.id : name;
    if (kind === "function_call") return [...this.#start(id, name, data.args), ...this.#close(id)];
    return [...this.#start(id, name, undefined), ...this.#result(id, data.response, false)];
  }

  /** The data of gemini-cli's `tool-call-update` and `tool-call-confirmation`. */
  coder(data: unknown): RemoteSignal[] {
    if (!isJson(data) || !isJson(data.request)) return [];
    const { callId: id, name: given, args } = data.request;
    if (typeof id !== "string") return [];
    const name = typeof given === "string" ? given : "tool";
    const signals = this.#start(id, name, args);
    if (data.status === "awaiting_approval") {
      this.#pending = { callId: id, name, args: this.#text(args) };
    } else if (this.#pending?.callId === id) this.#pending = undefined;
    if (data.status === "success" || data.status === "error" || data.status === "cancelled") {
      signals.push(...this.#result(id, responseOf(data.response) ?? data.status, data.status !== "success"));
    }
    return signals;
  }

  /** A trace artifact about a tool call. Without the call's id only its end tells, and stands for the whole. */
  trace({ artifactId, name: kind, parts }: Artifact): RemoteSignal[] {
    const content = parts[0]?.content;
    const data = content?.$case === "data" ? content.value : undefined;
    if (!isJson(data)) return [];
    const name = typeof data.tool === "string" ? data.tool : "tool";
    const known = typeof data.toolCallId === "string" ? data.toolCallId : undefined;
    const id = known ?? artifactId;
    const failed = data.status === "failed" || data.status === "error";
    switch (kind) {
      case "trace.mcp.start":
        if (known === undefined) return [];
        return [
          ...this.#start(id, name, data.request),
          ...(data.request === undefined ? [] : this.#close(id)),
        ];
      case "trace.file":
        return [...this.#start(id, name, { path: data.path }), ...this.#result(id, "", failed)];
      case "trace.mcp":
        return [...this.#start(id, name, data.request), ...this.#result(id, data.response ?? "", failed)];
      default:
        return [];
    }
  }

  #start(id: string, name: string, args: unknown): RemoteSignal[] {
    const toolCallId = this.#id(id);
    const signals: RemoteSignal[] = [];
    if (!this.#started.has(id)) signals.push({ type: "tool.start", toolCallId, name });
    this.#started.add(id);
    if (args === undefined || this.#argued.has(id) || this.#ended.has(id)) return signals;
    this.#argued.add(id);
    return [...signals, { type: "tool.args", toolCallId, delta: this.#text(args) }];
  }

  /** Before it is cut: half a credential is not recognised. */
  #text(value: unknown): string {
    return capText(this.redact(jsonText(value)), MAX_TOOL_TEXT);
  }

  #close(id: string): RemoteSignal[] {
    if (this.#ended.has(id)) return [];
    this.#ended.add(id);
    return [{ type: "tool.end", toolCallId: this.#id(id) }];
  }

  #result(id: string, content: unknown, isError: boolean): RemoteSignal[] {
    const done = `${id}\nresult`;
    if (this.#ended.has(done)) return [];
    const closed = this.#close(id);
    this.#ended.add(done);
    return [
      ...closed,
      { type: "tool.result", toolCallId: this.#id(id), content: this.#text(content), isError },
    ];
  }

  #id(id: string): string {
    return safeId(this.redact(id));
  }
}

/** The output within gemini-cli's nested response. */
function responseOf(response: unknown): unknown {
  if (!isJson(response)) return undefined;
  const first: unknown = Array.isArray(response.responseParts) ? response.responseParts[0] : undefined;
  const inner = isJson(first) && isJson(first.functionResponse) ? first.functionResponse.response : undefined;
  if (isJson(inner) && typeof inner.output === "string") return inner.output;
  return inner ?? response.resultDisplay ?? undefined;
}

function jsonText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
