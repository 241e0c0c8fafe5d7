import { expect, test } from "vitest";
import { nearest, quotedList, suggestion } from "./suggest.js";

const KEYS = ["agents", "subAgents", "journal", "serve", "a2a", "permissions", "model"];

test.each([
  ["subagents", "subAgents"],
  ["sub_agents", "subAgents"],
  ["sub-agents", "subAgents"],
  ["modle", "model"],
  ["permission", "permissions"],
  ["agnets", "agents"],
  ["sever", "serve"],
  ["jurnal", "journal"],
])("%s was meant to be %s", (word, meant) => expect(nearest(word, KEYS)).toBe(meant));

test.each(["colour", "x", "", "agents".repeat(20)])("%j was meant to be none of them", (word) => {
  expect(nearest(word, KEYS)).toBeUndefined();
  expect(suggestion(word, KEYS)).toBe("");
});

test("long lists are cut", () => {
  expect(quotedList(["a", "b"])).toBe('"a", "b"');
  expect(quotedList(Array(40).fill("a")).endsWith('"a", …')).toBe(true);
});
