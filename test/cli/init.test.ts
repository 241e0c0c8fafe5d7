import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { CLAUDE_VERSION, install } from "./installed.js";
import { startRemote } from "./remote.js";
import { type Folder, makeFolder, troupe, troupeInTerminal } from "./troupe.js";

const TOKEN = "tok-9876543210";
const CODEX_VERSION = "echo codex-cli 0.171.0";

async function run(folder: Folder, args: readonly string[], env: Record<string, string> = {}) {
  await using command = troupe(["init", ...args], { cwd: folder.path, env: { PATH: "", ...env } });
  const code = await command.exit;
  return { code, stdout: command.stdout, stderr: command.stderr };
}

const written = (folder: Folder, name = "troupe.config.json") =>
  JSON.parse(readFileSync(join(folder.path, name), "utf8"));

describe("troupe init --yes", () => {
  it("takes the first agent that is installed, and writes a config that troupe check takes", async () => {
    await using folder = await makeFolder();
    const bin = await install(folder, { codex: CODEX_VERSION });
    const { code, stdout, stderr } = await run(folder, ["--yes"], { PATH: bin });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`Wrote ${join(folder.path, "troupe.config.json")}`);
    expect(stdout).toContain("troupe check");
    expect(written(folder)).toEqual({
      $schema: pathToFileURL(resolve("schema/troupe.config.schema.json")).href,
      agents: { codex: { driver: "codex", workspace: "." } },
      subAgents: { agents: [] },
    });
    await using check = troupe(["check"], { cwd: folder.path, env: { PATH: bin } });
    await check.exit;
    expect(check.stdout).toContain("is valid: 1 agent, 0 sub-agents");
  });

  it("names the schema of the package that is installed there", async () => {
    await using folder = await makeFolder();
    await mkdir(join(folder.path, "node_modules/troupe/schema"), { recursive: true });
    await folder.write("node_modules/troupe/schema/troupe.config.schema.json", "{}");
    await run(folder, ["-y"]);
    expect(written(folder).$schema).toBe("./node_modules/troupe/schema/troupe.config.schema.json");
  });

  it("takes a remote agent, tries it, and writes the variable's name, never its value", async () => {
    await using folder = await makeFolder();
    await using remote = await startRemote({ token: TOKEN });
    const args = [
      "--yes",
      "--agent",
      "claude",
      "--card",
      remote.cardUrl,
      "--token-variable",
      "RESEARCH_TOKEN",
    ];
    const { code, stdout, stderr } = await run(folder, args, { RESEARCH_TOKEN: TOKEN });
    expect(code).toBe(0);
    expect(stderr).toMatch(/Research Agent, A2A 1\.0 .* takes the credential/);
    expect(written(folder).subAgents.agents).toEqual([
      {
        name: "research-agent",
        agentCardUrl: remote.cardUrl,
        auth: { mode: "bearer", token: "${RESEARCH_TOKEN}" },
      },
    ]);
    expect(stdout + stderr + readFileSync(join(folder.path, "troupe.config.json"), "utf8")).not.toContain(
      TOKEN,
    );
    expect((await remote.seen()).map(({ method }) => method)).toEqual(["GetTask"]);
  });

  it("says when a remote does not answer or wants a credential, and writes it all the same", async () => {
    await using folder = await makeFolder();
    const away = await run(folder, ["-y", "--card", "http://127.0.0.1:1/card.json", "--name", "away"]);
    expect([away.code, written(folder).subAgents.agents[0].name]).toEqual([0, "away"]);
    expect(away.stderr).toMatch(/no connection[\s\S]*→ start it/);
    await using remote = await startRemote({ token: TOKEN });
    const refused = await run(folder, ["-y", "--force", "--card", remote.cardUrl]);
    expect(refused.stderr).toMatch(/wants a credential \(HTTP 401\)[\s\S]*→ add `auth`/);
    const unset = await run(folder, ["-y", "--force", "--card", remote.cardUrl, "--token-variable", "NONE"]);
    expect(unset.stderr).toContain("NONE is not set here");
  });

  it("--json prints the file and what is in it, for scripts", async () => {
    await using folder = await makeFolder();
    const { code, stdout } = await run(folder, ["-y", "--json", "--agent", "gemini", "-c", "mine.json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      file: join(folder.path, "mine.json"),
      config: written(folder, "mine.json"),
    });
  });

  it("never overwrites without --force, whatever the config's format is", async () => {
    for (const name of ["troupe.config.json", "troupe.config.yaml", "troupe.config.mjs"]) {
      await using folder = await makeFolder();
      await folder.write(name, "mine");
      const { code, stderr } = await run(folder, ["--yes"]);
      expect(code).toBe(2);
      expect(stderr).toMatch(new RegExp(`${name} is there already\\. --force`));
      expect(readFileSync(join(folder.path, name), "utf8")).toBe("mine");
      expect((await run(folder, ["--yes", "--force"])).code).toBe(0);
      expect(written(folder).agents).toHaveProperty("claude");
    }
  });

  it.each([
    ["nobody who could answer", [], /Nobody can answer questions here\. --yes/],
    [
      "a token in place of its variable",
      ["-y", "--card", "http://127.0.0.1:1", "--token-variable", "s3cret-x"],
      /name of a variable/,
    ],
    ["a card that is no URL", ["-y", "--card", "research"], /agentCardUrl: must be a URL/],
    ["a name with a space", ["-y", "--card", "http://127.0.0.1:1", "--name", "a b"], /name: must be letters/],
    ["a name without a card", ["-y", "--name", "a"], /--card/],
    ["another format", ["-y", "-c", "troupe.config.yaml"], /Name a \.json file/],
    ["a folder that is not there", ["-y", "-c", "nowhere/troupe.config.json"], /cannot be written/],
  ])("%s: exit code 2, and nothing is written", async (_what, args, told) => {
    await using folder = await makeFolder();
    const { code, stdout, stderr } = await run(folder, args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(told);
    expect(stderr).not.toContain("s3cret-x");
    expect(existsSync(join(folder.path, "troupe.config.json"))).toBe(false);
  });
});

const hasTerminal = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux");

describe.skipIf(!hasTerminal)("troupe init in a terminal", () => {
  it("asks, tries the card at once, and asks again when an answer cannot be taken", async () => {
    await using folder = await makeFolder();
    await using remote = await startRemote({ token: TOKEN });
    const bin = await install(folder, { claude: CLAUDE_VERSION, codex: CODEX_VERSION });
    await using command = troupeInTerminal(["init"], {
      cwd: folder.path,
      env: { PATH: `${bin}:${process.env.PATH}`, RESEARCH_TOKEN: TOKEN },
    });
    const type = (text: string) => command.child.stdin?.write(`${text}\r`);
    await command.says("Local agent [claude]:");
    expect(command.stdout).toMatch(/1 {2}claude +2\.1\.332/);
    type("pilot");
    await command.says("or its number");
    type("2");
    await command.says("the URL of its card");
    type("nonsense");
    await command.says("begins with http");
    type("http://127.0.0.1:1/card.json");
    await command.says("cannot be read");
    await command.says("shall call it [remote]");
    type("");
    await command.says("Variable that holds its token");
    type("");
    await command.says("Write it all the same?");
    type("");
    await expect.poll(() => command.stdout.split("the URL of its card").length).toBe(4);
    type(remote.cardUrl);
    await command.says("It is Research Agent");
    await command.says("shall call it [research-agent]");
    type("research");
    await expect.poll(() => command.stdout.split("Variable that holds").length).toBe(3);
    type("tok 12");
    await command.says("not the token itself");
    type("RESEARCH_TOKEN");
    expect(await command.exit).toBe(0);
    expect(command.stdout).toContain("takes the credential");
    expect(command.stdout).not.toContain(TOKEN);
    expect(written(folder)).toMatchObject({
      agents: { codex: { driver: "codex" } },
      subAgents: {
        agents: [{ name: "research", agentCardUrl: remote.cardUrl, auth: { token: "${RESEARCH_TOKEN}" } }],
      },
    });
  });

  it.each([
    ["Ctrl-C", "\u0003"],
    ["the end of the input", "\u0004"],
  ])("%s writes nothing", async (_what, key) => {
    await using folder = await makeFolder();
    await using command = troupeInTerminal(["init"], { cwd: folder.path });
    await command.says("Local agent [");
    command.child.stdin?.write(key);
    expect(await command.exit).toBe(130);
    expect(command.stdout).toContain("Nothing was written.");
    expect(existsSync(join(folder.path, "troupe.config.json"))).toBe(false);
  });
});
