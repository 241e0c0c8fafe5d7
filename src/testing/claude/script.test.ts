import { expect, test } from "vitest";
import { fillPlaceholders } from "../program/placeholders.js";
import { parseCommandLine } from "./command-line.js";
import { DEFAULT_SCRIPT, parseScript } from "./script.js";

const values = {
  prompt: "the prompt",
  results: ['{"summary":"short","error":{"code":1}}', "plain {{prompt}}"],
};

test("placeholders stand for the prompt and for results, at any depth", () => {
  const filled = fillPlaceholders(
    { a: ["{{prompt}}!"], b: "{{result.0.summary}} {{result.0.error}} {{result.0.error.code}}", c: 1 },
    values,
  );
  expect(filled).toEqual({ a: ["the prompt!"], b: 'short {"code":1} 1', c: 1 });
});

test("what is not there is nothing, what is no JSON is itself, and what was put in is not read again", () => {
  expect(fillPlaceholders("{{result.0.x}} {{result.7}} {{result.1.summary}}", values)).toBe(
    "(nothing) (nothing) plain {{prompt}}",
  );
});

test("without a script the demo's one counts, and a malformed one is refused", () => {
  expect(parseScript(undefined)).toBe(DEFAULT_SCRIPT);
  expect(parseScript('{"turns":[]}')).toEqual({ turns: [] });
  expect(() => parseScript("[]")).toThrow("list of turns");
});

test("the command line is read as the real program reads it", () => {
  const args = [
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--setting-sources",
    "",
    "--allowedTools",
    "Bash",
    "mcp__a2a",
    "--resume",
    "id",
    "--fork-session",
  ];
  expect(parseCommandLine(args)).toEqual({
    resume: "id",
    fork: true,
    allowedTools: ["Bash", "mcp__a2a"],
    disallowedTools: [],
    model: "scripted",
  });
  expect(() => parseCommandLine(["--no-such"])).toThrow("error: unknown option '--no-such'");
  expect(() => parseCommandLine(["--output-format", "stream-json"])).toThrow("requires --verbose");
});
