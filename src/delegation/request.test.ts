import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TroupeError } from "../core/errors.js";
import { clampTimeout, resolvePolicy } from "./policy.js";
import { parseRequest, requestJsonSchema, requestText } from "./request.js";

const VALID = { agent: "research", objective: "Find out" };
const refusalOf = (input: unknown): string => {
  try {
    parseRequest(input);
  } catch (error) {
    if (error instanceof TroupeError && error.code === "invalid_input") return error.message;
    throw error;
  }
  throw new Error("was accepted");
};

describe("parseRequest", () => {
  it("takes what S1 section 11 describes, as it is", () => {
    const full = {
      ...VALID,
      input: {
        prompt: "p",
        context: "c",
        artifacts: [
          { name: "a.md", uri: "host://delegations/del-1/artifacts/a.md", mime_type: "text/markdown" },
        ],
      },
      constraints: { timeout_seconds: 0.5, stream: true, max_artifacts: 0 },
    };
    expect(parseRequest(full)).toEqual(full);
    expect(parseRequest(VALID)).toEqual(VALID);
  });

  it.each([
    ["nothing", undefined, "arguments"],
    ["null", null, "arguments"],
    ["a text", "research", "arguments"],
    ["an array", [VALID], "arguments"],
    ["no agent", { objective: "x" }, "agent"],
    ["an empty agent", { ...VALID, agent: "" }, "agent"],
    ["no objective", { agent: "research" }, "objective"],
    ["an empty objective", { ...VALID, objective: "" }, "objective"],
    ["an unknown field", { ...VALID, endpoint_url: "http://evil" }, "endpoint_url"],
    ["an unknown field of input", { ...VALID, input: { url: "http://evil" } }, "input"],
    ["an unknown field of constraints", { ...VALID, constraints: { budget: 1 } }, "constraints"],
    [
      "an unknown field of an artifact",
      { ...VALID, input: { artifacts: [{ name: "a", uri: "host://x", path: "/etc" }] } },
      "input.artifacts.0",
    ],
    [
      "an artifact by URL",
      { ...VALID, input: { artifacts: [{ name: "a", uri: "https://evil/a" }] } },
      "input.artifacts.0.uri",
    ],
    [
      "an artifact by file",
      { ...VALID, input: { artifacts: [{ name: "a", uri: "file:///etc/passwd" }] } },
      "input.artifacts.0.uri",
    ],
    ["a URL as the agent", { ...VALID, agent: "https://evil.example/agent" }, "agent"],
    ["a time of nothing", { ...VALID, constraints: { timeout_seconds: 0 } }, "constraints.timeout_seconds"],
    [
      "an endless time",
      { ...VALID, constraints: { timeout_seconds: Number.POSITIVE_INFINITY } },
      "constraints.timeout_seconds",
    ],
    ["a number as text", { ...VALID, constraints: { timeout_seconds: "5" } }, "constraints.timeout_seconds"],
    ["half an artifact", { ...VALID, constraints: { max_artifacts: 0.5 } }, "constraints.max_artifacts"],
    [
      "51 artifacts",
      { ...VALID, input: { artifacts: Array.from({ length: 51 }, () => ({ name: "a", uri: "host://x" })) } },
      "input.artifacts",
    ],
    ["an objective above a megabyte", { ...VALID, objective: "x".repeat(1_048_577) }, "objective"],
    [
      "a polluted object",
      JSON.parse('{"agent":"research","objective":"x","__proto__":{"admin":true}}'),
      "__proto__",
    ],
  ])("%s: invalid_input that names the field", (_what, input, field) => {
    expect(refusalOf(input)).toContain(field);
    expect(refusalOf(input).length).toBeLessThanOrEqual(1_000);
  });

  it.each([3_000, 65_536, 1_048_576])("case 017: an objective of %i characters is accepted", (length) => {
    expect(parseRequest({ ...VALID, objective: "x".repeat(length) }).objective).toHaveLength(length);
  });

  it("property: whatever comes in, it is a request or an invalid_input", () => {
    const members = fc.constantFrom(
      "agent",
      "objective",
      "input",
      "constraints",
      "prompt",
      "artifacts",
      "uri",
      "timeout_seconds",
      "__proto__",
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: "small" },
        fc.anything({
          maxDepth: 2,
          maxKeys: 4,
          withBigInt: true,
          withDate: true,
          withMap: true,
          withNullPrototype: true,
        }),
        fc.string({ unit: "binary" }),
        fc.dictionary(members, tie("any"), { maxKeys: 6 }),
      ),
    })).any;
    fc.assert(
      fc.property(
        fc.oneof(
          value,
          fc.dictionary(members, value).map((more) => ({ ...VALID, ...more })),
        ),
        (input) => {
          try {
            const request = parseRequest(input);
            expect(
              Object.keys(request).every((key) =>
                ["agent", "objective", "input", "constraints"].includes(key),
              ),
            ).toBe(true);
            requestText(request);
          } catch (error) {
            if (!(error instanceof TroupeError)) throw error;
            expect(error.code).toBe("invalid_input");
          }
        },
      ),
      { numRuns: 5_000 },
    );
  });
});

describe("the schema that the model sees", () => {
  it("lists the agents and refuses the same unknown fields as the parser", () => {
    const schema = requestJsonSchema(["research", "painter"]);
    expect(schema).toMatchObject({
      required: ["agent", "objective"],
      properties: { agent: { enum: ["research", "painter"] } },
    });
    const objects: unknown[] = [];
    JSON.stringify(schema, (_key, value) => {
      if (value?.type === "object") objects.push(value.additionalProperties);
      return value;
    });
    expect(objects).toEqual([false, false, false, false]);
  });
});

it("the remote gets objective, prompt and context, and no empty part", () => {
  expect(requestText({ ...VALID, input: { prompt: "Be brief.", context: "It is Monday." } })).toBe(
    "Find out\n\nBe brief.\n\nContext:\nIt is Monday.",
  );
  expect(requestText({ ...VALID, input: { prompt: "", context: "" } })).toBe("Find out");
});

it("S1 20.1: a policy clamps the time that a call asks for", () => {
  const policy = resolvePolicy({ maxTimeoutMs: 60_000 });
  expect(clampTimeout(policy, undefined)).toBe(60_000);
  expect(clampTimeout(policy, 30)).toBe(30_000);
  expect(clampTimeout(policy, 3_600)).toBe(60_000);
});
