import { defined } from "../../core/defined.js";
import type { RemoteInput } from "../../delegation/remote.js";
import { capText, MAX_CLOSING_TEXT } from "../http/words.js";
import { idIn, isJson, type Json, textIn, unpacked } from "./json.js";
import type { OpenCall } from "./tools.js";

/** One thing that a run waits for. */
export interface Interrupt {
  /** What kind of answer ends it. */
  readonly kind: "interrupt" | "custom" | "tool";
  /** The interrupt's id, or the call's. */
  readonly id: string;
  readonly prompt: string;
  readonly schema?: Json;
  /** It came as LangGraph's event as well. */
  readonly custom?: true;
}

/** What a run gets to go on. */
export interface Resumption {
  /** Answers by the standard, in `RunAgentInput.resume`. */
  readonly resume: readonly Json[];
  /** LangGraph reads its answer from `forwardedProps.command.resume`, and ignores the standard one. */
  readonly command?: unknown;
  /** Results of tools that only the caller can run. */
  readonly results: readonly { readonly toolCallId: string; readonly content: string }[];
}

/** Interrupts of one run that are looked at. */
const MAX_INTERRUPTS = 32;
/** Characters of a schema. */
const MAX_SCHEMA = 100_000;
/** Members in which servers put the question. */
const PROMPT_MEMBERS = ["message", "question", "prompt", "title", "description", "text"];
const SCHEMA_MEMBERS = ["responseSchema", "resumeSchema", "requestedSchema"];
const MAX_DEPTH = 3;

const APPROVAL: Json = {
  type: "object",
  properties: { approved: { type: "boolean" } },
  required: ["approved"],
};

/** The interrupts of `RUN_FINISHED.outcome`. */
export function interruptsOf(outcome: Json, callOf: (id: string) => OpenCall | undefined): Interrupt[] {
  const list = Array.isArray(outcome.interrupts) ? outcome.interrupts.slice(0, MAX_INTERRUPTS) : [];
  return list.filter(isJson).flatMap((interrupt) => {
    const id = idIn(interrupt, "id");
    if (id === undefined) return [];
    const reason = textIn(interrupt, "reason") ?? "";
    const callId = idIn(interrupt, "toolCallId");
    const call = callId === undefined ? undefined : callOf(callId);
    const words = promptIn(interrupt, 0) ?? promptIn(interrupt.metadata, 0);
    const asked = call === undefined ? undefined : `${call.name}(${call.args})`;
    const prompt = [words ?? (asked === undefined ? reason : undefined), asked].filter(Boolean).join("\n");
    const schema = schemaIn(interrupt) ?? (/approv|confirm/i.test(reason) ? APPROVAL : undefined);
    return [{ kind: "interrupt" as const, id, prompt: promptOr(prompt), ...defined({ schema }) }];
  });
}

/** LangGraph's interrupt, a `CUSTOM` event before a `RUN_FINISHED` that looks like success. */
export function customInterrupt(value: unknown): Interrupt {
  const content = unpacked(value);
  const words = typeof content === "string" ? content : promptIn(content, 0);
  const schema = isJson(content) ? schemaIn(content) : undefined;
  const prompt = words ?? (content === undefined || content === null ? "" : JSON.stringify(content));
  return { kind: "custom", id: "on_interrupt", prompt: promptOr(prompt), ...defined({ schema }) };
}

/** A call that only the caller can answer. */
export function toolInterrupt({ toolCallId, name, args }: OpenCall): Interrupt {
  const prompt = `The agent calls the tool "${name}" with ${args === "" ? "no arguments" : args}, and waits for its result.`;
  return { kind: "tool", id: toolCallId, prompt: capText(prompt, MAX_CLOSING_TEXT) };
}

/** One question for everything that a run waits for. */
export function questionOf(interrupts: readonly Interrupt[]): { prompt: string; schema?: Json } {
  const [first] = interrupts;
  if (interrupts.length === 1 && first !== undefined) {
    const { prompt, schema } = first;
    return { prompt, ...defined({ schema }) };
  }
  const prompt = interrupts.map(({ id, prompt: words }) => `${id}: ${words}`).join("\n");
  const properties = Object.fromEntries(interrupts.map(({ id, schema }) => [id, schema ?? {}]));
  return {
    prompt: capText(prompt, MAX_CLOSING_TEXT),
    schema: { type: "object", properties, required: interrupts.map(({ id }) => id) },
  };
}

/** An answer in the ways of all servers at once. */
export function resumptionOf(interrupts: readonly Interrupt[], input: RemoteInput): Resumption {
  const answers = interrupts.map((interrupt) => ({
    interrupt,
    payload: answerTo(interrupt, interrupts, input),
  }));
  const custom = answers.find(({ interrupt }) => interrupt.kind === "custom" || interrupt.custom);
  return {
    resume: answers
      .filter(({ interrupt }) => interrupt.kind === "interrupt")
      .map(({ interrupt, payload }) => ({ interruptId: interrupt.id, status: "resolved", payload })),
    results: answers
      .filter(({ interrupt }) => interrupt.kind === "tool")
      .map(({ interrupt, payload }) => ({
        toolCallId: interrupt.id,
        content: typeof payload === "string" ? payload : JSON.stringify(payload ?? null),
      })),
    ...(custom === undefined ? {} : { command: custom.payload }),
  };
}

function answerTo(interrupt: Interrupt, all: readonly Interrupt[], input: RemoteInput): unknown {
  const { data, text = "" } = input;
  if (data === undefined) return wordsFor(interrupt.schema, text);
  return all.length > 1 && isJson(data) && Object.hasOwn(data, interrupt.id) ? data[interrupt.id] : data;
}

/** Words in the shape that a schema asks for, where there is but one way to do that. */
function wordsFor(schema: Json | undefined, text: string): unknown {
  if (schema === undefined) return text;
  const properties = propertiesOf(schema);
  if (properties !== undefined && Object.hasOwn(properties, "approved")) return { approved: isYes(text) };
  if (schema.type === "boolean") return isYes(text);
  const names = Object.keys(properties ?? {});
  const [only] = names;
  if (schema.type !== "object" || properties === undefined || only === undefined || names.length > 1)
    return text;
  const member = properties[only];
  if (!isJson(member)) return text;
  if (member.type === "boolean") return { [only]: isYes(text) };
  return member.type === "string" || member.type === undefined ? { [only]: text } : text;
}

function propertiesOf(schema: Json): Json | undefined {
  if (isJson(schema.properties)) return schema.properties;
  const choices = schema.oneOf ?? schema.anyOf;
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return isJson(first) && isJson(first.properties) ? first.properties : undefined;
}

function isYes(text: string): boolean {
  return /^\s*(?:y|yes|ok|okay|true|approved?|allow(?:ed)?|proceed|1)\b/i.test(text);
}

function schemaIn(json: Json): Json | undefined {
  for (const member of SCHEMA_MEMBERS) {
    const schema = unpacked(json[member]);
    if (!isJson(schema) || Object.keys(schema).length === 0) continue;
    if (JSON.stringify(schema).length <= MAX_SCHEMA) return schema;
  }
  return undefined;
}

function promptIn(json: unknown, depth: number): string | undefined {
  if (!isJson(json) || depth > MAX_DEPTH) return undefined;
  for (const member of PROMPT_MEMBERS) {
    const value = json[member];
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  for (const member of ["suspendPayload", "mastra", "args", "value"]) {
    const found = promptIn(json[member], depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function promptOr(prompt: string): string {
  return prompt.trim() === "" ? "The agent asks for input." : capText(prompt, MAX_CLOSING_TEXT);
}
