import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRedactor, REDACTED } from "./redact.js";

describe("createRedactor", () => {
  const secret = 'tok/en+1"é\\ value?';
  const redact = createRedactor([secret, ""]);

  test.each([
    ["raw", secret],
    ["base64", Buffer.from(secret).toString("base64")],
    ["base64url", Buffer.from(secret).toString("base64url")],
    ["URL component", encodeURIComponent(secret)],
    ["form value", new URLSearchParams({ k: secret }).toString().slice(2)],
    ["JSON", JSON.stringify(secret).slice(1, -1)],
    ["JSON in JSON", JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
    ["hexadecimal", Buffer.from(secret).toString("hex")],
  ])("removes the %s form", (_name, form) => {
    expect(redact(`<${form}><${form}>`)).toBe(`<${REDACTED}><${REDACTED}>`);
  });

  test("removes it from a base64 of something longer", () => {
    const header = Buffer.from(`user:${secret}`).toString("base64");
    const text = redact(`Basic ${header}`);
    expect(text).toContain(REDACTED);
    expect(Buffer.from(text.replace("Basic ", ""), "base64").toString()).not.toContain("en+1");
  });

  test("leaves other text alone, also without secrets or with tiny ones", () => {
    expect(redact("nothing here")).toBe("nothing here");
    expect(createRedactor([])("abc")).toBe("abc");
    expect(createRedactor(["a"])("banana")).toBe("banana");
  });

  test("no secret survives anywhere in a text, whatever it is made of", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", minLength: 4 }),
        fc.string(),
        fc.string(),
        (value, before, after) => {
          fc.pre(!REDACTED.includes(value) && !`${before}${REDACTED}${after}`.includes(value));
          expect(createRedactor([value])(`${before}${value}${after}`)).not.toContain(value);
        },
      ),
    );
  });
});

describe("many long secrets", () => {
  // As many tokens as are remembered; a pattern of all their prefixes took seconds with each new one.
  const tokens = Array.from(
    { length: 100 },
    (_, index) => `eyJhbGciOiJSUzI1NiJ9.${String(index).padStart(3, "0").repeat(1_300)}`,
  );

  test("are found whole and cut, and cost little to look for", () => {
    for (let round = 0; round < 20; round++) createRedactor(tokens);
    const redact = createRedactor(tokens);
    expect(redact(`<${tokens[7]}|${tokens[99]}>`)).toBe(`<${REDACTED}|${REDACTED}>`);
    const begun = redact.split(`a ${tokens[42]?.slice(0, 3_000)}`);
    expect(begun).toEqual({ said: "a ", held: tokens[42]?.slice(0, 3_000) });
    expect(redact.split(begun.held + tokens[42]?.slice(3_000))).toEqual({ said: REDACTED, held: "" });
  });

  test("of two that begin alike the longer one is taken out", () => {
    const redact = createRedactor(["secret-1", "secret-1-and-more"]);
    expect(redact("secret-1-and-more secret-1-and secret-1")).toBe(`${REDACTED} ${REDACTED}-and ${REDACTED}`);
  });
});
