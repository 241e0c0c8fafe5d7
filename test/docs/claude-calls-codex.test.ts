import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const FOLDER = "examples/claude-calls-codex";

describe(FOLDER, () => {
  it("runs scripted as its README says: Codex is seen at work under Claude's call, and Claude goes on with the result", () => {
    const [, command = ""] =
      /^(node \S+ --scripted)/m.exec(readFileSync(`${FOLDER}/README.md`, "utf8")) ?? [];
    const [, ...args] = command.split(" ");
    const output = execFileSync(process.execPath, args, { encoding: "utf8", timeout: 25_000 });
    const places = [
      "Codex is an A2A agent at http://127.0.0.1:",
      "I'll ask Codex to do it.",
      "┌ Codex",
      "│ First I look at what is here.",
      '│ [shell] {"command":"ls"',
      "│ [apply_patch] ",
      "greeting.txt",
      "│ greeting.txt says hello now.",
      "└ you saw ",
      "Codex says: greeting.txt says hello now.",
    ].map((text) => output.indexOf(text));
    expect(
      places.every((place) => place >= 0),
      output,
    ).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });
});
