import { expect, test } from "vitest";
import { splitToolName } from "./tool-name.js";

test("splits at the end of a known server's name, the longest first", () => {
  expect(splitToolName("mcp__a2a__delegate_to_agent", ["a2a"])).toEqual({
    server: "a2a",
    tool: "delegate_to_agent",
  });
  expect(splitToolName("mcp__a__b__c__d", ["a", "a__b"])).toEqual({ server: "a__b", tool: "c__d" });
  expect(splitToolName("mcp__a__b__c", ["a"])).toEqual({ server: "a", tool: "b__c" });
});

test("gives a server the name that it was configured with", () => {
  expect(splitToolName("mcp__my_server__x", ["my server"])).toEqual({ server: "my server", tool: "x" });
});

test("an unknown server ends at the first separator, and built-in tools have none", () => {
  expect(splitToolName("mcp__other__x__y", [])).toEqual({ server: "other", tool: "x__y" });
  expect(splitToolName("Bash", ["a2a"])).toBeUndefined();
  expect(splitToolName("mcp__broken", [])).toBeUndefined();
});
