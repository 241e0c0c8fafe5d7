import type { RemoteInput, RemoteQuestion } from "../../delegation/remote.js";
import type { FormSchema } from "./tool.js";

/** The field of the form for a question whose answer is words. */
const ANSWER = "answer";
const WORDS: FormSchema = {
  type: "object",
  properties: { [ANSWER]: { type: "string", title: "Answer" } },
  required: [ANSWER],
};

/** Fields of a form; more is no form that a person would fill in. */
const MAX_FIELDS = 20;
/** Characters of a form's JSON. */
const MAX_FORM = 16_384;
const FORMATS = ["email", "uri", "date", "date-time"];

/** What MCP knows of a field, by its type. Anything else of a remote's schema is left out. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  string: ["title", "description", "minLength", "maxLength", "enum", "enumNames", "default"],
  number: ["title", "description", "minimum", "maximum", "default"],
  integer: ["title", "description", "minimum", "maximum", "default"],
  boolean: ["title", "description", "default"],
};

/** What became of a form. */
export type FormOutcome =
  | { readonly outcome: "answered"; readonly input: RemoteInput }
  /** The person does not want to answer. */
  | { readonly outcome: "declined" }
  /** The form was closed, or could not be shown: nobody has decided anything. */
  | { readonly outcome: "dismissed" }
  /** The answer is none. */
  | { readonly outcome: "unusable"; readonly why: string };

/** The form for a question: the remote's own when it is a flat object of primitives, else one field for words. */
export function formSchema({ schema }: RemoteQuestion): FormSchema {
  return flatSchema(schema) ?? WORDS;
}

/** Reads what a client says of a form. */
export function readForm(question: RemoteQuestion, response: unknown): FormOutcome {
  if (!isRecord(response)) return { outcome: "dismissed" };
  if (response.action === "decline") return { outcome: "declined" };
  if (response.action !== "accept") return { outcome: "dismissed" };
  const content = isRecord(response.content) ? response.content : {};
  const flat = flatSchema(question.schema);
  if (flat === undefined) {
    const text = content[ANSWER];
    if (typeof text === "string" && text.trim() !== "") return { outcome: "answered", input: { text } };
    return { outcome: "unusable", why: "The answer is empty." };
  }
  const data: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(flat.properties)) {
    const value = Object.hasOwn(content, name) ? content[name] : undefined;
    if (value === undefined) {
      if (flat.required?.includes(name)) return { outcome: "unusable", why: `"${name}" is missing.` };
      continue;
    }
    if (!fits(value, field)) return { outcome: "unusable", why: `"${name}" is not what was asked for.` };
    data[name] = value;
  }
  return { outcome: "answered", input: { data } };
}

/** The schema with nothing but what MCP allows in a form; `undefined` when it is no flat object of primitives. */
function flatSchema(schema: unknown): FormSchema | undefined {
  if (!isRecord(schema) || schema.type !== "object" || !isRecord(schema.properties)) return undefined;
  const fields = Object.entries(schema.properties);
  if (fields.length === 0 || fields.length > MAX_FIELDS) return undefined;
  const properties: Record<string, Record<string, unknown>> = {};
  for (const [name, field] of fields) {
    const flat = name === "__proto__" ? undefined : flatField(field);
    if (flat === undefined) return undefined;
    properties[name] = flat;
  }
  const wanted: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const required = Object.keys(properties).filter((name) => wanted.includes(name));
  const form = { type: "object" as const, properties, ...(required.length === 0 ? {} : { required }) };
  return JSON.stringify(form).length <= MAX_FORM ? form : undefined;
}

function flatField(field: unknown): Record<string, unknown> | undefined {
  if (!isRecord(field) || typeof field.type !== "string") return undefined;
  const members = Object.hasOwn(MEMBERS, field.type) ? MEMBERS[field.type] : undefined;
  if (members === undefined) return undefined;
  const flat: Record<string, unknown> = { type: field.type };
  for (const member of members) {
    const value = Object.hasOwn(field, member) ? field[member] : undefined;
    if (value !== undefined && fitsMember(member, value, field.type)) flat[member] = value;
    else if (member === "enum" && value !== undefined) return undefined;
  }
  if (field.type !== "string") return flat;
  if (typeof field.const === "string") flat.enum = [field.const];
  if (typeof field.format === "string" && FORMATS.includes(field.format)) flat.format = field.format;
  return flat;
}

function fitsMember(member: string, value: unknown, type: string): boolean {
  switch (member) {
    case "title":
    case "description":
      return typeof value === "string";
    case "enum":
    case "enumNames":
      return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string");
    case "default":
      return fits(value, { type });
    default:
      return typeof value === "number";
  }
}

/** Whether a value is of a field's type, and one of its choices. Lengths and ranges are the remote's to judge. */
function fits(value: unknown, field: Readonly<Record<string, unknown>>): boolean {
  if (Array.isArray(field.enum) && !field.enum.includes(value)) return false;
  if (field.type === "integer") return Number.isSafeInteger(value);
  return field.type === "number" ? Number.isFinite(value) : typeof value === field.type;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
