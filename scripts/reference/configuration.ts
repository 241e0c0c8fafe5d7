import { headingAnchor } from "../../docs/.vitepress/places.js";
import { configJsonSchema } from "../../src/config/json-schema.js";
import { DEFAULT_POLICY } from "../../src/delegation/policy.js";
import { code, table } from "./markdown.js";

/** What of JSON Schema the schema of configs uses. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** An object of the config, which has a section of its own. */
interface Section {
  readonly path: string;
  readonly schema: Schema;
  /** Other places where the same object stands. */
  readonly also: Set<string>;
  /** Objects that this one was the first to hold. */
  readonly inner: Section[];
  /** Its table; set when it was worded. */
  rows: string[][];
}

const INTRODUCTION = `# Configuration reference

Every key of \`troupe.config.json\`, as the published JSON Schema has it. What the keys are for, with examples, is in
[configuration](../configuration.md). This page is made from the schema by \`npm run docs\`.

In a path, \`*\` stands for a name that you choose, and \`[]\` for each entry of a list. Keys that are not here are refused.
Any text may have \`\${VARIABLES}\`.`;

const number = (value: number) => value.toLocaleString("en-US");

/** Texts of a description and the default that its end says: "…; 100 by default." */
function splitDefault(description: string): readonly [meaning: string, standard: string] {
  const match = /^(.*?)[;.] (?:((?:(?!\. )[^;])*) by default|by default ((?:(?!\. )[^;])*))\.$/s.exec(
    description,
  );
  if (match === null) return [description, ""];
  const [, meaning = "", before, after] = match;
  const standard = (before ?? after ?? "").trim();
  const value = /^(?:"[^"]*"|true|false|[\d,]+|[\d.]+)$/.test(standard) ? code(standard) : standard;
  return [`${meaning}.`, value];
}

function range({ minimum, exclusiveMinimum, maximum }: Schema): string {
  const least = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + 1);
  if (least !== undefined && maximum !== undefined) return `, ${number(least)} to ${number(maximum)}`;
  if (least !== undefined) return `, at least ${number(least)}`;
  return maximum === undefined ? "" : `, at most ${number(maximum)}`;
}

/** Words the objects of a schema, each once. */
class Sections {
  readonly #known = new Map<string, Section>();

  /** Words an object and those in it. */
  build(path: string, schema: Schema): Section {
    const section: Section = { path, schema, also: new Set(), inner: [], rows: [] };
    this.#known.set(keyOf(schema), section);
    section.rows = Object.entries(schema.properties ?? {}).map(([key, member]) => {
      const place = path === "" ? key : `${path}.${key}`;
      const [meaning, told] = splitDefault(member.description ?? "");
      return [
        `<a id="${place.toLowerCase().replace(/\W+/g, "-").replace(/^-/, "")}"></a>${code(key)}`,
        this.#typeOf(section, place, member),
        schema.required?.includes(key) === true ? "required" : standardOf(path, key, member, told),
        meaning,
      ];
    });
    return section;
  }

  #link(parent: Section, path: string, schema: Schema): string {
    let section = this.#known.get(keyOf(schema));
    if (section === undefined) {
      section = this.build(path, schema);
      parent.inner.push(section);
    } else if (section.path !== path) section.also.add(path);
    const mode = schema.properties?.mode?.const;
    return `[${typeof mode === "string" ? mode : "object"}](#${headingAnchor(section.path)})`;
  }

  /** The type of what stands at `path`, in words. */
  #typeOf(parent: Section, path: string, schema: Schema): string {
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined)
      return choices.map((one) => this.#typeOf(parent, choicePath(path, one), one)).join(" or ");
    if (schema.const !== undefined) return code(JSON.stringify(schema.const));
    if (schema.enum !== undefined) return schema.enum.map((value) => code(JSON.stringify(value))).join(", ");
    switch (schema.type) {
      case "array":
        return `list of ${this.#typeOf(parent, `${path}[]`, schema.items ?? {})}`;
      case "object":
        if (schema.properties !== undefined) return this.#link(parent, path, schema);
        return typeof schema.additionalProperties === "object"
          ? `by name: ${this.#typeOf(parent, `${path}.*`, schema.additionalProperties)}`
          : "object";
      case "string":
        return schema.pattern?.startsWith("^https?://") === true ? "URL" : "text";
      case "integer":
      case "number":
        return `${schema.type}${range(schema)}`;
      default:
        return schema.type ?? "anything";
    }
  }
}

/** The same for objects that differ only in what they are for. */
function keyOf(schema: Schema): string {
  return JSON.stringify({ ...schema, description: undefined });
}

/** Objects of one place that exclude each other are told apart by their `mode`. */
function choicePath(path: string, { properties }: Schema): string {
  const mode = properties?.mode?.const;
  return typeof mode === "string" ? `${path} (${mode})` : path;
}

function standardOf(path: string, key: string, schema: Schema, told: string): string {
  if (schema.default !== undefined) return code(schema.default);
  if (told !== "" || !path.endsWith(".policy")) return told;
  const value: unknown = DEFAULT_POLICY[key as keyof typeof DEFAULT_POLICY];
  return value === undefined ? "" : code(typeof value === "number" ? number(value) : JSON.stringify(value));
}

function sectionText({ path, schema, also, inner, rows }: Section): string[] {
  const { description, additionalProperties } = schema;
  return [
    `## ${path === "" ? "Top" : code(path)}`,
    // What is said of one place does not hold for the others.
    ...(path === "" || description === undefined || also.size > 0 ? [] : [description]),
    ...(also.size === 0 ? [] : [`The same as ${[...also].map(code).join(", ")}.`]),
    table(["Key", "Type", "Default", "Meaning"], rows),
    ...(additionalProperties === false || path === "" ? [] : ["Other members are kept as they are."]),
    ...inner.flatMap(sectionText),
  ];
}

/** The page with every key of a config. */
export function configurationReference(): string {
  const top = new Sections().build("", configJsonSchema() as Schema);
  return `${[INTRODUCTION, ...sectionText(top)].join("\n\n")}\n`;
}
