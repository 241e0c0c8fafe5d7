import type { z } from "zod";
import { startOf } from "../core/text.js";
import { type Place, placeText } from "./substitute.js";
import { nearest, quotedList, suggestion } from "./suggest.js";

/** Something in a config that cannot be used. */
export interface ConfigProblem {
  readonly place: Place;
  /** What is wrong there, what is allowed, and what was probably meant; never a secret. */
  readonly message: string;
}

type Issue = z.core.$ZodIssue;
type Schema = z.core.$ZodType;

/** Below these keys values are secrets, or may hold one. */
const SECRET_KEYS = new Set(["auth", "headers", "args", "token", "tokens", "key", "keys", "clientSecret"]);
const MAX_VALUE = 60;

/**
 * What a schema said against a config, in words.
 * @param raw the config as it was written: what came from a variable is shown as `${NAME}`.
 */
export function problemsOf(error: z.ZodError, raw: unknown, schema: Schema): ConfigProblem[] {
  return error.issues.flatMap((issue) => problems(issue as Issue, [], raw, schema));
}

/** A problem as a line. */
export function problemText({ place, message }: ConfigProblem): string {
  return `${placeText(place) || "(top)"}: ${message}`;
}

function problems(issue: Issue, before: Place, raw: unknown, schema: Schema): ConfigProblem[] {
  const place = [...before, ...issue.path];
  const found = valueAt(raw, place);
  const problem = (message: string, withValue = true): ConfigProblem[] => [
    { place, message: message + (withValue ? shownValue(place, found) : "") },
  ];
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = keysAt(schema, raw, place);
      return issue.keys.map((key) => {
        const meant = nearest(key, known);
        const next = meant === undefined ? `; allowed are ${known.join(", ")}` : `; did you mean "${meant}"?`;
        return { place, message: `there is no key "${startOf(key, MAX_VALUE)}"${next}` };
      });
    }
    case "invalid_value": {
      const values = issue.values.map(String);
      const meant = typeof found === "string" ? suggestion(found, values) : "";
      return problem(`${found === undefined ? "is missing; " : ""}must be ${either(values)}${meant}`);
    }
    case "invalid_type":
      if (found === undefined) return problem(`is missing; it must be ${aThing(issue.expected)}`, false);
      return problem(`must be ${aThing(issue.expected)}, and is ${aThing(kindOf(found))}`);
    case "too_small":
      if (issue.origin === "number" || issue.origin === "int")
        return problem(`must be ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}`);
      return problem("must not be empty", false);
    case "too_big":
      return problem(`must be at most ${issue.maximum}`);
    case "invalid_key":
      return problem(`cannot be a key here: it ${issue.issues[0]?.message ?? "is not allowed"}`, false);
    case "invalid_union":
      return union(issue, place, raw, schema, problem);
    default:
      return problem(issue.message);
  }
}

/** Tells of the one alternative that was probably meant. */
function union(
  issue: Extract<Issue, { code: "invalid_union" }>,
  place: Place,
  raw: unknown,
  schema: Schema,
  problem: (message: string) => ConfigProblem[],
): ConfigProblem[] {
  if ("discriminator" in issue && issue.discriminator !== undefined) {
    const values = literalsAt(schema, raw, place);
    const found = valueAt(raw, place);
    if (values.length > 0) {
      const meant = typeof found === "string" ? suggestion(found, values) : "";
      return problem(`${found === undefined ? "is missing; " : ""}must be ${either(values)}${meant}`);
    }
  }
  // An alternative that says something about a part of the value took its kind.
  const inside = issue.errors.find((errors) =>
    errors.some(({ path, code }) => path.length > 0 || code === "unrecognized_keys"),
  );
  if (inside !== undefined) return inside.flatMap((inner) => problems(inner, place, raw, schema));
  if (issue.message !== "Invalid input") return problem(issue.message);
  const kinds = issue.errors.flatMap(([first]) => {
    if (first?.code === "invalid_type") return [aThing(first.expected)];
    return first?.code === "invalid_value" ? [either(first.values.map(String))] : [];
  });
  return problem(`must be ${[...new Set(kinds)].join(" or ")}`);
}

/** What stands there as it was written, unless it is or may be a secret. */
function shownValue(place: Place, value: unknown): string {
  if (place.some((step) => SECRET_KEYS.has(String(step)))) return "";
  if (typeof value === "number" || typeof value === "boolean") return ` (it is ${value})`;
  if (typeof value !== "string") return "";
  // User and password, or a query, of a URL.
  if (/@|\?/.test(value)) return "";
  const text = JSON.stringify(startOf(value, MAX_VALUE)) + (value.length > MAX_VALUE ? "…" : "");
  return ` (it is ${text})`;
}

function valueAt(value: unknown, place: Place): unknown {
  let inner = value;
  for (const step of place) {
    if (typeof inner !== "object" || inner === null || !Object.hasOwn(inner, step)) return undefined;
    inner = (inner as Record<PropertyKey, unknown>)[step];
  }
  return inner;
}

interface SchemaParts {
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly innerType?: Schema;
  readonly element?: Schema;
  readonly valueType?: Schema;
  readonly options?: readonly Schema[];
  readonly values?: readonly unknown[];
}

function partsOf(schema: Schema): SchemaParts {
  return schema._zod.def as SchemaParts;
}

/** The schemas that may hold at a place; of alternatives those that the value does not speak against. */
function schemasAt(schema: Schema, raw: unknown, place: Place): Schema[] {
  let reached = alternatives(schema, raw);
  let value = raw;
  for (const step of place) {
    value = valueAt(value, [step]);
    reached = reached.flatMap((one) => {
      const { shape, element, valueType } = partsOf(one);
      const next = shape === undefined ? (element ?? valueType) : shape[String(step)];
      return next === undefined ? [] : alternatives(next, value);
    });
  }
  return reached;
}

function alternatives(schema: Schema, raw: unknown): Schema[] {
  const { innerType, options } = partsOf(schema);
  if (innerType !== undefined) return alternatives(innerType, raw);
  if (options === undefined) return [schema];
  const all = options.flatMap((option) => alternatives(option, raw));
  const fitting = all.filter((option) =>
    Object.entries(partsOf(option).shape ?? {}).every(([key, member]) => {
      const { values } = partsOf(member);
      const own = valueAt(raw, [key]);
      return (
        partsOf(member).options !== undefined ||
        values === undefined ||
        own === undefined ||
        values.includes(own)
      );
    }),
  );
  return fitting.length === 0 ? all : fitting;
}

function keysAt(schema: Schema, raw: unknown, place: Place): string[] {
  const keys = schemasAt(schema, raw, place).flatMap((one) => Object.keys(partsOf(one).shape ?? {}));
  return [...new Set(keys)];
}

function literalsAt(schema: Schema, raw: unknown, place: Place): string[] {
  const values = schemasAt(schema, raw, place).flatMap((one) => partsOf(one).values ?? []);
  return [...new Set(values.map(String))];
}

function either(values: readonly string[]): string {
  return values.length === 1 ? quotedList(values) : `one of ${quotedList(values)}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

const THINGS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
};

function aThing(kind: string): string {
  return THINGS[kind] ?? kind;
}
