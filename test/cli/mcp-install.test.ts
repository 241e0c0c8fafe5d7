import { existsSync, lstatSync, readFileSync, statSync } from "node:fs";
import { chmod, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type Folder, makeFolder, troupe } from "./troupe.js";

vi.setConfig({ testTimeout: 120_000 });

const CONFIG = JSON.stringify({
  subAgents: {
    agents: [
      {
        name: "research",
        agentCardUrl: "http://127.0.0.1:9/",
        auth: { mode: "bearer", token: "${RESEARCH_TOKEN}" },
        policy: { maxTimeoutMs: 3_600_000 },
      },
    ],
  },
});

async function workspace(): Promise<Folder> {
  const folder = await makeFolder();
  await folder.write("troupe.config.json", CONFIG);
  return folder;
}

async function install(folder: Folder, ...args: string[]) {
  await using command = troupe(["mcp", "install", ...args], {
    cwd: folder.path,
    env: { RESEARCH_TOKEN: "a-real-secret" },
  });
  const code = await command.exit;
  expect(command.stdout + command.stderr).not.toContain("a-real-secret");
  return { code, stdout: command.stdout, stderr: command.stderr };
}

const read = (folder: Folder, file: string) => readFileSync(join(folder.path, file), "utf8");

const FILES = [
  ["claude", ".mcp.json", "mcpServers"],
  ["cursor", ".cursor/mcp.json", "mcpServers"],
  ["vscode", ".vscode/mcp.json", "servers"],
] as const;

describe.each(FILES)("troupe mcp install %s", (client, file, section) => {
  it("prints by default, and writes nothing but the workspace's token", async () => {
    await using folder = await workspace();
    const { code, stdout } = await install(folder, client);
    expect(code).toBe(0);
    expect(stdout).toContain(`# ${join(folder.path, file)}`);
    expect(stdout).toContain(`"${section}"`);
    expect(existsSync(join(folder.path, file))).toBe(false);
    const token = join(folder.path, ".troupe", "token");
    expect((statSync(token).mode & 0o777).toString(8)).toBe("600");
    expect(stdout).not.toContain(readFileSync(token, "utf8").trim());
  });

  it("writes a new file, and adds to one that is there; twice is once", async () => {
    await using folder = await workspace();
    expect((await install(folder, client, "--write")).code).toBe(0);
    const fresh = JSON.parse(read(folder, file))[section];
    expect(Object.keys(fresh)).toEqual(["a2a-subagents"]);
    const entry = fresh["a2a-subagents"];
    expect(entry.command).toBe(process.execPath);
    expect(entry.args.slice(1)).toEqual(
      client === "claude" ? ["mcp"] : ["mcp", "--config", "${workspaceFolder}/troupe.config.json"],
    );
    if (client === "claude") expect(entry.timeout).toBe(3_660_000);
    else expect(entry.env).toEqual({ RESEARCH_TOKEN: "${env:RESEARCH_TOKEN}" });

    const before = { [section]: { other: { command: "x", args: [] } }, inputs: [1] };
    await folder.write(file, `${JSON.stringify(before, undefined, "\t")}\n`);
    await chmod(join(folder.path, file), 0o640);
    expect((await install(folder, client, "--write")).stdout).toContain("was written");
    const after = read(folder, file);
    expect(JSON.parse(after)).toEqual({
      ...before,
      [section]: { ...before[section], "a2a-subagents": entry },
    });
    expect(after).toMatch(/^\t"/m);
    expect(after.endsWith("}\n")).toBe(true);
    expect(statSync(join(folder.path, file)).mode & 0o777).toBe(0o640);
    expect((await install(folder, client, "--write")).stdout).toContain("has it already");
    expect(read(folder, file)).toBe(after);
  });

  it("a file with comments is left alone: it prints, and says so", async () => {
    await using folder = await workspace();
    await mkdir(join(folder.path, file, ".."), { recursive: true });
    const text = '{\n  // mine\n  "x": 1\n}\n';
    await folder.write(file, text);
    const { code, stdout, stderr } = await install(folder, client, "--write");
    expect(code).toBe(1);
    expect(stderr).toContain("comments");
    expect(stdout).toContain('"a2a-subagents"');
    expect(read(folder, file)).toBe(text);
  });
});

describe("troupe mcp install codex", () => {
  it("prints a table, and adds it to what is there", async () => {
    await using folder = await workspace();
    await using home = await makeFolder();
    const args = ["codex", "--dir", home.path];
    const { stdout } = await install(folder, ...args);
    expect(stdout).toContain("[mcp_servers.a2a-subagents]");
    expect(stdout).toContain("tool_timeout_sec = 3660");
    expect(stdout).toContain('env_vars = ["RESEARCH_TOKEN"]');
    expect(stdout).toContain(`"--config", "${join(folder.path, "troupe.config.json")}"`);
    const before = '# mine\nmodel = "gpt-5.5"\n\n[mcp_servers.other]\ncommand = "x"\n';
    await home.write("real.toml", before);
    await symlink("real.toml", join(home.path, "config.toml"));
    expect((await install(folder, ...args, "--write")).code).toBe(0);
    const after = read(home, "real.toml");
    expect(after.startsWith(`${before}\n[mcp_servers.a2a-subagents]\n`)).toBe(true);
    expect(lstatSync(join(home.path, "config.toml")).isSymbolicLink()).toBe(true);
    expect((await install(folder, ...args, "--write")).stdout).toContain("has it already");
    expect(read(home, "real.toml")).toBe(after);
  });

  it("a server of that name stays", async () => {
    await using folder = await workspace();
    await using home = await makeFolder();
    const text = '[mcp_servers."a2a-subagents"]\ncommand = "mine"\n';
    await home.write("config.toml", text);
    const { code, stderr, stdout } = await install(folder, "codex", "--dir", home.path, "--write");
    expect([code, read(home, "config.toml")]).toEqual([1, text]);
    expect(stderr).toContain("left as it is");
    expect(stdout).toContain("[mcp_servers.a2a-subagents]");
  });
});

describe("troupe mcp install", () => {
  it("--json is one line for programs; --dir another project; a foreign config is named", async () => {
    await using folder = await workspace();
    await using project = await makeFolder();
    const { stdout } = await install(folder, "claude", "--json", "--write", "--dir", project.path);
    const told = JSON.parse(stdout);
    expect(told).toMatchObject({ client: "claude", file: join(project.path, ".mcp.json"), written: true });
    expect(told.command).toMatch(/^claude mcp add-json a2a-subagents '/);
    expect(JSON.parse(told.snippet)).toEqual(JSON.parse(read(project, ".mcp.json")));
    expect(JSON.parse(told.snippet).mcpServers["a2a-subagents"].args.slice(1)).toEqual([
      "mcp",
      "--config",
      join(folder.path, "troupe.config.json"),
    ]);
  });

  it("replaces what an earlier version of it wrote", async () => {
    await using folder = await workspace();
    const old = { command: "/old/node", args: ["/old/dist/cli/main.js", "mcp"] };
    await folder.write(".mcp.json", JSON.stringify({ mcpServers: { "a2a-subagents": old } }));
    expect((await install(folder, "claude", "--write")).stdout).toContain("was written");
    expect(read(folder, ".mcp.json")).not.toContain("/old/");
  });

  it("without a config, or for a client that is not known, it says so", async () => {
    await using folder = await makeFolder();
    expect((await install(folder, "claude")).code).toBe(2);
    const unknown = await install(folder, "emacs");
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain("claude, codex, cursor, vscode");
  });
});
