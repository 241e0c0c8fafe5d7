import { expect, test } from "vitest";
import { DEFAULT_CODEX_SCRIPT, parseCodexScript } from "./script.js";
import { scriptedCodex, scriptedCodexEnvironment } from "./start.js";

test("a script is an object with turns; without one it delegates", () => {
  expect(parseCodexScript(undefined)).toBe(DEFAULT_CODEX_SCRIPT);
  expect(parseCodexScript('{"turns":[[{"say":"Hi"}]]}')).toEqual({ turns: [[{ say: "Hi" }]] });
  expect(() => parseCodexScript('{"turns":1}')).toThrow("list of turns");
});

test("the program is started from what was built", () => {
  const [program, file] = scriptedCodex();
  expect(program).toBe(process.execPath);
  expect(file).toMatch(/dist[\\/]testing[\\/]codex[\\/]scripted-codex\.js$/);
  expect(scriptedCodexEnvironment({ paceMs: 5, trace: "/t" })).toEqual({
    TROUPE_PACE_MS: "5",
    TROUPE_TRACE: "/t",
  });
});
