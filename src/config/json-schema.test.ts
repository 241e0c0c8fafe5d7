import { resolve } from "node:path";
import { expect, it } from "vitest";
import { configJsonSchema, SCHEMA_PATH } from "./json-schema.js";

type Json = Record<string, unknown>;

/** As the formatter writes it: lists of texts that fit stand in one line. */
function schemaText(): string {
  const text = JSON.stringify(configJsonSchema(), undefined, 2);
  const list = /^(.*)\[\n((?: *"[^"\n]*",?\n)+) *\](,?)$/gm;
  const joined = text.replace(list, (whole: string, before: string, members: string, comma: string) => {
    const line = `${before}[${members.trim().replace(/\n */g, " ")}]${comma}`;
    return line.length <= 110 ? line : whole;
  });
  return `${joined}\n`;
}

function schemasIn(value: unknown): Json[] {
  if (typeof value !== "object" || value === null) return [];
  return [value as Json, ...Object.values(value).flatMap(schemasIn)];
}

it("the published schema is the current one; `npx vitest run src/config -u` writes it", async () => {
  await expect(schemaText()).toMatchFileSnapshot(resolve(SCHEMA_PATH));
});

it("every key says what it means", () => {
  const silent = schemasIn(configJsonSchema()).flatMap(({ properties }) =>
    Object.entries((properties ?? {}) as Record<string, Json>).flatMap(([name, schema]) =>
      schema.description === undefined && schema.const === undefined ? [name] : [],
    ),
  );
  expect(silent).toEqual([]);
});

it("unknown keys are refused, and variables are allowed where a text has a form", () => {
  const all = schemasIn(configJsonSchema());
  const open = all.filter(
    ({ properties, additionalProperties }) => properties !== undefined && additionalProperties !== false,
  );
  // JSON Web Keys have members of their own.
  expect(open.map(({ properties }) => Object.keys(properties as object))).toEqual([["kid"]]);
  expect(all.filter(({ format }) => format !== undefined)).toEqual([]);
  const patterns = all.flatMap(({ pattern }) => (typeof pattern === "string" ? [new RegExp(pattern)] : []));
  expect(patterns.length).toBeGreaterThan(5);
  for (const pattern of patterns) expect("${NAME}").toMatch(pattern);
});
