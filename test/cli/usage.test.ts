import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { makeFolder, troupe } from "./troupe.js";

async function say(
  args: readonly string[],
  files: Readonly<Record<string, string>> = {},
  env: Record<string, string> = {},
) {
  await using folder = await makeFolder();
  for (const [name, content] of Object.entries(files)) await folder.write(name, content);
  await using command = troupe(args, { cwd: folder.path, env });
  const code = await command.exit;
  return { code, stdout: command.stdout, stderr: command.stderr };
}

describe("help and version", () => {
  it("--help names every command, shows examples, and the exit codes", async () => {
    const { code, stdout, stderr } = await say(["--help"]);
    expect([code, stderr]).toEqual([0, ""]);
    for (const command of ["demo", "serve", "run", "agents", "check", "init"]) {
      expect(stdout).toMatch(new RegExp(`^ {2}${command} `, "m"));
      expect(stdout).toContain(`  troupe ${command}`);
    }
    expect(stdout).toContain("Exit codes: 0 done, 1 the run failed, 2 bad usage or config, 130 cancelled.");
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  });

  it.each([
    ["demo", ["--port", "--open", "--no-open", "--json"]],
    ["serve", ["--config", "--port", "--hostname", "--json"]],
    ["run", ["<prompt...>", "--config", "--agent", "--json"]],
    ["agents", ["--config", "--json"]],
    ["check", ["--config", "--json"]],
    ["init", ["--config", "--yes", "--agent", "--card", "--name", "--token-variable", "--force", "--json"]],
    ["completion", ["shell", "zsh"]],
  ])("%s --help explains each option, and starts nothing", async (command, options) => {
    const { code, stdout, stderr } = await say([command, "--help"]);
    expect([code, stderr]).toEqual([0, ""]);
    for (const option of options)
      expect(stdout).toMatch(new RegExp(`${option.replaceAll(/[.<>]/g, "\\$&")}.*`));
    expect(stdout).toMatch(/^Usage: troupe \w+ \[options\]/);
    expect(await say(["help", command])).toMatchObject({ code: 0, stdout });
  });

  it("--version is the package's", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(await say(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
    expect(await say(["-V"])).toMatchObject({ stdout: `${version}\n` });
  });
});

describe("bad usage exits with 2 and says what to do", () => {
  it.each([
    ["an unknown command", ["dance"], /unknown command 'dance'/],
    ["an unknown option", ["run", "--loudly", "hi"], /unknown option '--loudly'/],
    ["no prompt", ["run"], /missing required argument 'prompt'/],
    ["a port that is none", ["demo", "--port", "eighty"], /from 0 to 65535/],
    ["a port that is too high", ["serve", "-p", "65536"], /from 0 to 65535/],
    ["an option without its value", ["serve", "--config"], /argument missing/],
    ["a shell that is not known", ["completion", "tcsh"], /bash, zsh, fish/],
    ["a driver that is not known", ["init", "--yes", "--agent", "pilot"], /claude, codex/],
  ])("%s", async (_title, args, told) => {
    const { code, stdout, stderr } = await say(args);
    expect(code).toBe(2);
    expect(stderr).toMatch(told);
    expect(stderr).toContain("--help");
    expect(stdout).toBe("");
  });

  it("no command at all shows the help", async () => {
    const { code, stderr } = await say([]);
    expect(code).toBe(2);
    expect(stderr).toContain("Usage: troupe");
  });

  it("a port that is taken", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" && address !== null ? String(address.port) : "";
    try {
      const { code, stdout, stderr } = await say(["demo", "--port", port]);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(/EADDRINUSE.*--port/);
      expect(stderr).not.toContain("    at ");
    } finally {
      server.close();
    }
  });
});

describe("a bad config exits with 2 and says where", () => {
  const agents = { claude: { driver: "claude" } };
  it.each([
    ["serve without any", ["serve"], {}, /no troupe\.config\.json here/],
    ["one that is not there", ["serve", "-c", "mine.json"], {}, /mine\.json cannot be read/],
    [
      "one that is no JSON",
      ["serve"],
      { "troupe.config.json": '{\n  "agents": {,}\n}' },
      /troupe\.config\.json:2: not valid JSON/,
    ],
    [
      "one that is no YAML",
      ["serve"],
      { "troupe.config.yaml": "agents: {\n" },
      /troupe\.config\.yaml:\d: not valid YAML/,
    ],
    [
      "a module that throws",
      ["run", "hi"],
      { "troupe.config.mjs": 'throw new Error("no luck");' },
      /troupe\.config\.mjs could not be run: no luck/,
    ],
    [
      "a module that waits for ever",
      ["agents"],
      { "troupe.config.js": "module.exports = { then() {} };", "package.json": "{}" },
      /exports no config|no config after/,
    ],
    [
      "a typo",
      ["mcp"],
      { "troupe.config.json": JSON.stringify({ agents, subagents: {} }) },
      /there is no key "subagents"; did you mean "subAgents"\?/,
    ],
    ["an unknown field", ["serve"], { "troupe.config.json": JSON.stringify({ agents, sever: {} }) }, /sever/],
    [
      "an unknown driver",
      ["run", "hi"],
      { "troupe.config.json": JSON.stringify({ agents: { a: { driver: "cloud" } } }) },
      /agents\.a\.driver/,
    ],
    [
      "an agent that it does not have",
      ["run", "-a", "codex", "hi"],
      { "troupe.config.json": JSON.stringify({ agents }) },
      /no agent "codex".*claude/,
    ],
    [
      "a variable that is missing",
      ["serve"],
      {
        "troupe.config.json": JSON.stringify({
          agents,
          subAgents: {
            agents: [
              {
                name: "research",
                agentCardUrl: "http://127.0.0.1:1/",
                auth: { mode: "bearer", token: "${RESEARCH_TOKN}" },
              },
            ],
          },
        }),
      },
      /\$\{RESEARCH_TOKN\}/,
    ],
    [
      "a listener for everybody without an authoriser",
      ["serve", "--hostname", "0.0.0.0", "--port", "0"],
      { "troupe.config.json": JSON.stringify({ agents }) },
      /Refusing to listen on 0\.0\.0\.0/,
    ],
  ])("%s", async (_title, args, files: Record<string, string>, told) => {
    const { code, stdout, stderr } = await say(args, files);
    expect(stderr).toMatch(told);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).not.toContain("    at ");
  });
});
