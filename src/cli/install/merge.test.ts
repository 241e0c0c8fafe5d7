import { describe, expect, it } from "vitest";
import type { Installation } from "./clients.js";
import { type Merged, merge, snippetOf } from "./merge.js";

const json: Installation = {
  file: ".mcp.json",
  format: "json",
  section: "mcpServers",
  name: "a2a-subagents",
  entry: { command: "npx", args: ["troupe", "mcp"] },
};
const toml: Installation = { ...json, file: "config.toml", format: "toml", section: "mcp_servers" };

const textOf = (merged: Merged) => ("text" in merged ? merged.text : "");

describe("merging into JSON", () => {
  it.each([
    ["comments", '{\n  // mine\n  "x": 1\n}\n', "comments"],
    ["no JSON", "{", "no valid JSON"],
    ["a number that would be rounded", '{"x": 12345678901234567890}', "differently"],
    ["a member twice", '{"x": 1, "x": 2}', "differently"],
    ["members that would change their order", '{"b": 1, "2": 1, "1": 1}', "differently"],
    ["no object", '{"mcpServers": []}', "no object"],
    ["a list", "[]", "no object"],
    [
      "another server of that name",
      '{"mcpServers": {"a2a-subagents": {"command": "mine"}}}',
      "another server",
    ],
    [
      "another server, started with mcp",
      '{"mcpServers": {"a2a-subagents": {"args": ["x.js", "mcp"]}}}',
      "another",
    ],
  ])("leaves a file with %s alone", (_what, text, why) => {
    expect(merge(json, text)).toEqual({ refusal: expect.stringContaining(why) });
  });

  it("keeps what is there, its indent, its line ends and its byte order mark", () => {
    const before = '\ufeff{\r\n\t"mcpServers": {\r\n\t\t"other": {}\r\n\t},\r\n\t"n": "\\u00e9"\r\n}\r\n';
    const after = textOf(merge(json, before));
    expect(after).toMatch(
      /^\ufeff\{\r\n\t"mcpServers": \{\r\n\t\t"other": \{\},\r\n\t\t"a2a-subagents": \{\r\n/,
    );
    expect(after.endsWith("}\r\n")).toBe(true);
    expect(after.replaceAll("\r\n", "")).not.toContain("\n");
    expect(merge(json, after)).toEqual({ unchanged: true });
  });

  it("an empty file, and one with an own earlier entry, are written", () => {
    expect(textOf(merge(json, " \n"))).toBe(snippetOf(json));
    const old = {
      mcpServers: { "a2a-subagents": { command: "node", args: ["/x/dist/cli/main.js", "mcp"] } },
    };
    expect(JSON.parse(textOf(merge(json, JSON.stringify(old))))).toEqual(JSON.parse(snippetOf(json)));
  });
});

describe("merging into TOML", () => {
  it.each([
    '[mcp_servers."a2a-subagents"]\ncommand = "mine"\n',
    "[mcp_servers.'a2a-subagents']\n",
    "[ mcp_servers . a2a-subagents ]\n",
    '[mcp_servers.a2a-subagents.env]\nA = "1"\n',
    'mcp_servers = { other = { command = "x" } }\n',
    'mcp_servers.a2a-subagents.command = "mine"\n',
    '[mcp_servers]\na2a-subagents = { command = "mine" }\n',
    '[mcp_servers]\n"a2a-subagents".command = "mine"\n',
  ])("leaves %j alone", (text) => {
    expect(merge(toml, text)).toEqual({ refusal: expect.stringContaining("already") });
  });

  it("adds a table at the end, once", () => {
    const before = '# mine\nmodel = "x"\n[mcp_servers.other]\ncommand = "y"';
    const after = textOf(merge(toml, before));
    expect(after).toBe(
      `${before}\n\n[mcp_servers.a2a-subagents]\ncommand = "npx"\nargs = ["troupe", "mcp"]\n`,
    );
    expect(merge(toml, after)).toEqual({ unchanged: true });
  });

  it("writes what is in a path as TOML has it", () => {
    const odd = { ...toml, entry: { command: 'C:\\a "b"\u007f', n: 3 } };
    expect(snippetOf(odd)).toBe('[mcp_servers.a2a-subagents]\ncommand = "C:\\\\a \\"b\\"\\u007f"\nn = 3\n');
  });
});
