import { describe, expect, it } from "vitest";
import { ConfigError } from "./config-error.js";
import { substituteVariables } from "./substitute.js";

const VARIABLES = { TOKEN: "s3cret", EMPTY: "", DOLLAR: "$& ${TOKEN}", HOST: "a.example" };

describe("variables", () => {
  it("are replaced in every text, at any depth; other values and keys stay", () => {
    expect(
      substituteVariables(
        {
          "${TOKEN}": 1,
          list: ["https://${HOST}/x?${HOST}", { deep: "Bearer ${TOKEN}" }],
          no: null,
          yes: true,
          n: 3,
        },
        VARIABLES,
      ),
    ).toEqual({
      "${TOKEN}": 1,
      list: ["https://a.example/x?a.example", { deep: "Bearer s3cret" }],
      no: null,
      yes: true,
      n: 3,
    });
  });

  it("are taken literally: what a value looks like is not replaced again", () => {
    expect(substituteVariables("${DOLLAR}", VARIABLES)).toBe("$& ${TOKEN}");
  });

  it("have defaults, which an empty value does not need", () => {
    expect(
      substituteVariables(["${NONE:-a b}", "${NONE:-}", "${EMPTY:-x}", "${TOKEN:-x}"], VARIABLES),
    ).toEqual(["a b", "", "", "s3cret"]);
  });

  it("that look otherwise are no variables", () => {
    const text = "$TOKEN ${} ${1A} ${A-B} $${ {TOKEN}";
    expect(substituteVariables(text, VARIABLES)).toBe(text);
  });

  it("that are missing are named, all of them, each once: a typo must not become a call without credentials", () => {
    const config = { a: "${RESEARCH_TOKN}", b: ["${OTHER} ${RESEARCH_TOKN}", "${TOKEN}"] };
    expect(() => substituteVariables(config, VARIABLES)).toThrow(ConfigError);
    expect(() => substituteVariables(config, VARIABLES)).toThrow(/\$\{RESEARCH_TOKN\}, \$\{OTHER\}, which/);
  });

  it("that every object has are missing as well", () => {
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"])
      expect(() => substituteVariables(`\${${name}}`, process.env)).toThrow(ConfigError);
  });

  it("a key that is __proto__ changes nobody's prototype", () => {
    const result = substituteVariables(JSON.parse('{"__proto__":{"polluted":"${TOKEN}"}}'), VARIABLES);
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
