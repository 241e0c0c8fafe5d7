import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CLAUDE_VERSION, install } from "./installed.js";
import { startRemote } from "./remote.js";
import { type Folder, makeFolder, troupe } from "./troupe.js";

async function run(folder: Folder, path: string, ...args: string[]) {
  await using command = troupe(["agents", ...args], { cwd: folder.path, env: { PATH: path, NO_COLOR: "1" } });
  const code = await command.exit;
  return { code, stdout: command.stdout, stderr: command.stderr };
}

describe("troupe agents", () => {
  it("without a config: what is installed, with versions and capabilities, and what to do for the rest", async () => {
    await using folder = await makeFolder();
    const bin = await install(folder, {
      claude: CLAUDE_VERSION,
      codex: "echo codex-cli 0.120.0",
      opencode: "echo broken >&2; exit 1",
    });
    const { code, stdout, stderr } = await run(folder, bin);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(
      /claude +2\.1\.332 +\/.*bin\/claude\n +resume, fork, approvals, MCP over HTTP, MCP over stdio/,
    );
    expect(stdout).toMatch(
      /codex +0\.120\.0.*\n.*\n +it is older than 0\.163\.0\n +→ npm install -g @openai\/codex@latest/,
    );
    expect(stdout).toMatch(
      /gemini +-\n.*no program gemini on the PATH\n +→ npm install -g @google\/gemini-cli/,
    );
    expect(stdout).toMatch(
      /opencode +- .*\n.*did not work \(exit code 1\): broken\n +→ run .*opencode --version yourself/,
    );
    expect(stdout).toMatch(/cursor-agent +-\n.*\n +→ see https:\/\/cursor\.com\/cli/);
    expect(stdout).toContain("There is no troupe.config.json here");
    // Newer ones of Cursor have another name, and none of them asks.
    await install(folder, { agent: "echo 2026.11.20-abc123" });
    const later = await run(folder, bin);
    expect(later.stdout).toMatch(
      /cursor-agent +2026\.11\.20-abc123 +\/.*bin\/agent\n +resume, MCP over HTTP\n?$/m,
    );
  });

  it("with a config: its agents and its sub-agents with their health, and 1 when something of it does not work", async () => {
    await using folder = await makeFolder();
    await using remote = await startRemote();
    const bin = await install(folder, { claude: CLAUDE_VERSION, mine: "echo mine 3.1" });
    const good = {
      agents: { writer: { driver: "claude" }, other: { driver: "acp", command: "mine" } },
      subAgents: { agents: [{ name: "research", agentCardUrl: remote.cardUrl }] },
    };
    await folder.write("troupe.config.json", JSON.stringify(good));
    const fine = await run(folder, bin, "--json");
    expect([fine.code, fine.stderr]).toEqual([0, ""]);
    const told = JSON.parse(fine.stdout);
    expect(told).toMatchObject({
      config: join(folder.path, "troupe.config.json"),
      agents: [
        {
          name: "writer",
          driver: "claude",
          version: "2.1.332",
          path: join(bin, "claude"),
          capabilities: { resume: true },
        },
        { name: "other", driver: "acp", version: "3.1", path: join(bin, "mine") },
      ],
      subAgents: [{ name: "research", protocol: "a2a", status: "ready", title: "Research Agent" }],
    });
    expect(told.programs.map(({ name }: { name: string }) => name)).toEqual([
      "claude",
      "codex",
      "gemini",
      "opencode",
      "cursor-agent",
    ]);

    const bad = {
      agents: {
        writer: { driver: "claude", executable: "./nowhere" },
        lost: { driver: "claude", workspace: "./gone" },
      },
      subAgents: {
        agents: [
          {
            name: "away",
            agentCardUrl: "http://127.0.0.1:1/.well-known/agent-card.json",
            auth: { mode: "bearer", token: "${AWAY_TOKEN}" },
          },
        ],
      },
    };
    const file = await folder.write("bad.json", JSON.stringify(bad));
    await using command = troupe(["agents", "-c", file], {
      cwd: folder.path,
      env: { PATH: bin, NO_COLOR: "1", AWAY_TOKEN: "very-secret" },
    });
    expect(await command.exit).toBe(1);
    expect(command.stdout).toMatch(
      /writer +-.*\n.*no program \.\/nowhere\n +→ npm install -g @anthropic-ai\/claude-code/,
    );
    expect(command.stdout).toMatch(/lost .*\n.*gone is no folder\n +→ create it/);
    expect(command.stdout).toMatch(/away +a2a\n +.*\n +→ start it/);
    expect(command.stdout + command.stderr).not.toContain("very-secret");
  });

  it("a config that cannot be read is wrong usage", async () => {
    await using folder = await makeFolder();
    const { code, stdout, stderr } = await run(folder, "", "-c", "mine.json");
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("mine.json cannot be read");
  });
});
