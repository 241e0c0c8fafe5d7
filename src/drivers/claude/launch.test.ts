import { expect, test } from "vitest";
import { claudeCommand, claudeEnvironment, initializeRequest } from "./launch.js";

const server = {
  name: "a2a",
  transport: "http",
  url: "http://127.0.0.1:1/mcp",
  headers: { Authorization: "Bearer s3cret-value" },
} as const;
const request = { mcpServers: [server], persist: false };

test("the credential is in the initialize request and in no argument or variable", () => {
  const command = claudeCommand({}, request, "new");
  expect(JSON.stringify([command, claudeEnvironment({}, { A: "1" }, "/tmp/x")])).not.toContain(
    "s3cret-value",
  );
  expect(initializeRequest([{ ...server, timeoutMs: 5 }])).toEqual({
    subtype: "initialize",
    mcpServers: {
      a2a: { type: "http", url: server.url, headers: server.headers, alwaysLoad: true, timeout: 1_000 },
    },
  });
});

test("a stdio server has its command", () => {
  expect(
    initializeRequest([{ name: "s", transport: "stdio", command: "node", args: ["x.js"], env: { A: "1" } }]),
  ).toEqual({
    subtype: "initialize",
    mcpServers: { s: { type: "stdio", command: "node", args: ["x.js"], env: { A: "1" }, alwaysLoad: true } },
  });
});

test("settings and foreign MCP servers stay out, permissions are asked over the protocol", () => {
  const command = claudeCommand({}, request, "new").join(" ");
  expect(command).toContain(
    "claude -p --input-format stream-json --output-format stream-json --verbose --include-partial-messages",
  );
  expect(command).toContain(
    "--strict-mcp-config --await-initialize --permission-prompt-tool stdio --permission-mode manual --setting-sources  ",
  );
});

test("trusted servers and options become arguments", () => {
  const command = claudeCommand(
    {
      executable: ["node", "claude.js"],
      model: "sonnet",
      allowedTools: ["Bash(git diff:*)"],
      disallowedTools: ["WebFetch"],
      maxTurns: 3,
      appendSystemPrompt: "Be brief.",
      extraArgs: ["--x"],
    },
    { mcpServers: [{ ...server, trusted: true }], persist: false },
    "new",
  );
  expect(command.slice(0, 3)).toEqual(["node", "claude.js", "-p"]);
  expect(command.join("|")).toContain(
    "--allowedTools|Bash(git diff:*)|mcp__a2a|--disallowedTools|WebFetch|--model|sonnet|--max-turns|3|--append-system-prompt|Be brief.|",
  );
  expect(command.at(-1)).toBe("--x");
  expect(claudeCommand({}, request, "new").join(" ")).not.toContain("--allowedTools");
});

test("sessions: none for a run alone, a known id for a thread, resume and fork", () => {
  const resume = (fork: boolean) => ({
    checkpoint: { driver: "claude", workspace: "/w", session: "old" },
    fork,
  });
  const tail = (changes: object) =>
    claudeCommand({}, { ...request, ...changes }, "new")
      .slice(-3)
      .join(" ");
  expect(tail({})).toMatch(/--no-session-persistence$/);
  expect(tail({ persist: true })).toMatch(/--session-id new$/);
  expect(tail({ persist: true, resume: resume(false) })).toMatch(/--resume old$/);
  expect(tail({ persist: true, resume: resume(true) })).toBe("--resume old --fork-session");
});

test("the agent's own environment wins", () => {
  expect(claudeEnvironment({ maxRetries: 2 }, { CLAUDE_CODE_TMPDIR: "/own" }, "/tmp/x")).toEqual({
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_TMPDIR: "/own",
    CLAUDE_CODE_MAX_RETRIES: "2",
  });
});
