import { expect, it } from "vitest";
import { proposedAnswer } from "./proposed-answer.js";

const form = (properties: object, required: readonly string[] = Object.keys(properties)) =>
  proposedAnswer({ type: "object", properties, required });

it("takes each field's default, or the first of its choices", () => {
  expect(
    form({
      database: { type: "string", examples: ["SQLite", "Postgres"] },
      colour: { type: "string", enum: ["red", "green"] },
      size: { oneOf: [{ const: "s", title: "Small" }, { const: "l" }] },
      count: { type: "integer", default: 3, enum: [1, 3] },
      really: { type: "boolean", default: false },
    }),
  ).toEqual({ database: "SQLite", colour: "red", size: "s", count: 3, really: false });
});

it("a field without proposals is left out where it may be, and else there is no answer", () => {
  expect(form({ name: { type: "string" }, colour: { enum: ["red"] } }, ["colour"])).toEqual({
    colour: "red",
  });
  expect(form({ name: { type: "string" }, colour: { enum: ["red"] } })).toBeUndefined();
  expect(form({ colour: { enum: [] } })).toBeUndefined();
});

it("anything that is no form has no answer", () => {
  for (const schema of [
    undefined,
    null,
    7,
    "x",
    [],
    {},
    { properties: [] },
    { properties: { a: 7 }, required: ["a"] },
  ])
    expect(proposedAnswer(schema)).toBeUndefined();
});
