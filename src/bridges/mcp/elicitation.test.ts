import { specTypeSchemas } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formSchema, readForm } from "./elicitation.js";

const WORDS = {
  type: "object",
  properties: { answer: { type: "string", title: "Answer" } },
  required: ["answer"],
};
const TRIP = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    city: { type: "string", title: "City", enum: ["Oslo", "Rome"], "x-hint": 1 },
    nights: { type: "integer", minimum: 1, description: "How many" },
    breakfast: { type: "boolean", default: true },
    mail: { type: "string", format: "email", pattern: "@" },
    kind: { type: "string", const: "trip" },
  },
  required: ["city", "kind", "nobody"],
  additionalProperties: false,
};
const asks = (schema?: unknown) => ({ prompt: "?", ...(schema === undefined ? {} : { schema }) });
const accept = (content: unknown) => ({ action: "accept", content });

describe("a form", () => {
  it("is the remote's schema when that is a flat object of primitives, without what MCP does not know", () => {
    expect(formSchema(asks(TRIP))).toEqual({
      type: "object",
      properties: {
        city: { type: "string", title: "City", enum: ["Oslo", "Rome"] },
        nights: { type: "integer", minimum: 1, description: "How many" },
        breakfast: { type: "boolean", default: true },
        mail: { type: "string", format: "email" },
        kind: { type: "string", enum: ["trip"] },
      },
      required: ["city", "kind"],
    });
  });

  it.each([
    ["no schema", undefined],
    ["no object", { type: "string" }],
    ["no fields", { type: "object", properties: {} }],
    ["an object within", { type: "object", properties: { a: { type: "object", properties: {} } } }],
    ["a list within", { type: "object", properties: { a: { type: "array", items: { type: "string" } } } }],
    ["a field of no type", { type: "object", properties: { a: {} } }],
    [
      "a field of a type that every object has",
      { type: "object", properties: { a: { type: "constructor" } } },
    ],
    ["a field of two types", { type: "object", properties: { a: { type: ["string", "null"] } } }],
    ["choices that are no words", { type: "object", properties: { a: { type: "string", enum: [1] } } }],
    [
      "more fields than a person fills in",
      {
        type: "object",
        properties: Object.fromEntries([...Array(21).keys()].map((n) => [`f${n}`, { type: "string" }])),
      },
    ],
    ["too much text", { type: "object", properties: { a: { type: "string", title: "x".repeat(20_000) } } }],
    ["a name that is no name", JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}')],
  ])("is one field for words with %s", (_what, schema) => {
    expect(formSchema(asks(schema))).toEqual(WORDS);
  });

  it("is one that MCP allows, whatever the remote sends", () => {
    const field = fc.oneof(
      fc.record(
        {
          type: fc.constantFrom("string", "number", "integer", "boolean", "object", 7),
          title: fc.oneof(fc.string(), fc.integer()),
          enum: fc.oneof(fc.array(fc.string()), fc.array(fc.integer())),
          enumNames: fc.array(fc.string()),
          const: fc.oneof(fc.string(), fc.boolean()),
          format: fc.constantFrom("email", "date", "uuid", ""),
          minimum: fc.oneof(fc.integer(), fc.string()),
          maxLength: fc.oneof(fc.nat(), fc.string()),
          default: fc.oneof(fc.string(), fc.boolean(), fc.double()),
        },
        { requiredKeys: [] },
      ),
      fc.anything(),
    );
    const schema = fc.oneof(
      fc.anything(),
      fc.record({
        type: fc.constant("object"),
        properties: fc.dictionary(fc.string(), field, { maxKeys: 4 }),
        required: fc.oneof(fc.anything(), fc.array(fc.string())),
      }),
    );
    fc.assert(
      fc.property(schema, fc.anything(), (asked, response) => {
        const requestedSchema = formSchema(asks(asked));
        const params = JSON.parse(JSON.stringify({ mode: "form", message: "?", requestedSchema }));
        const checked = specTypeSchemas.ElicitRequestFormParams["~standard"].validate(params);
        expect(checked).not.toHaveProperty("issues");
        expect(["answered", "declined", "dismissed", "unusable"]).toContain(
          readForm(asks(asked), response).outcome,
        );
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("what a client says of a form", () => {
  it("words are an answer, nothing is none", () => {
    expect(readForm(asks(), accept({ answer: "Rome" }))).toEqual({
      outcome: "answered",
      input: { text: "Rome" },
    });
    for (const content of [{}, { answer: " " }, { answer: 7 }, undefined, "Rome", [1]])
      expect(readForm(asks(), accept(content)).outcome).toBe("unusable");
  });

  it("data are those of the form's fields, and of their types", () => {
    const given = { city: "Rome", nights: 2, breakfast: false, kind: "trip" };
    expect(readForm(asks(TRIP), accept({ ...given, injected: "x" }))).toEqual({
      outcome: "answered",
      input: { data: given },
    });
    for (const [wrong, why] of [
      [{ city: "Paris", kind: "trip" }, /"city" is not what was asked for/],
      [{ ...given, nights: 1.5 }, /nights/],
      [{ ...given, breakfast: "yes" }, /breakfast/],
      [{ kind: "trip" }, /"city" is missing/],
    ] as const)
      expect(readForm(asks(TRIP), accept(wrong))).toEqual({
        outcome: "unusable",
        why: expect.stringMatching(why),
      });
  });

  it("declined is a decision, anything else is none", () => {
    expect(readForm(asks(), { action: "decline" })).toEqual({ outcome: "declined" });
    for (const response of [{ action: "cancel" }, {}, null, "accept", [], undefined])
      expect(readForm(asks(), response)).toEqual({ outcome: "dismissed" });
  });
});
