import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { makeFolder, start, troupe } from "./troupe.js";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const COMMANDS = ["demo", "serve", "run", "mcp", "agents", "check", "init", "replay", "completion", "help"];

async function script(shell: string): Promise<string> {
  await using folder = await makeFolder();
  await using command = troupe(["completion", shell], { cwd: folder.path });
  expect(await command.exit).toBe(0);
  return command.stdout;
}

function has(shell: string): boolean {
  return spawnSync(shell, ["-c", "exit 0"]).status === 0;
}

describe("troupe completion", () => {
  it.each(["bash", "zsh", "fish"])(
    "%s gets every command, and every option that its help has",
    async (shell) => {
      const text = await script(shell);
      for (const name of COMMANDS) {
        expect(text).toContain(name);
        if (name === "help") continue;
        await using folder = await makeFolder();
        await using help = troupe([name, "--help"], { cwd: folder.path });
        await help.exit;
        for (const [option] of help.stdout.matchAll(/--[a-z][a-z-]+/g))
          expect(text, `${name} ${option}`).toContain(shell === "fish" ? `-l ${option.slice(2)}` : option);
      }
    },
  );

  it.skipIf(!has("bash"))("bash completes commands, options, files, agents and choices", async () => {
    await using folder = await makeFolder();
    await folder.write("troupe.config.json", JSON.stringify({ agents: { writer: { driver: "claude" } } }));
    await folder.write("two words.json", "{}");
    const complete = async (...words: string[]) => {
      const quoted = words.map((word) => `'${word}'`).join(" ");
      const lines = [
        `troupe() { '${process.execPath}' '${MAIN}' "$@"; }`,
        'eval "$(troupe completion bash)"',
        `COMP_WORDS=(${quoted}); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); _troupe`,
        'printf "%s\\n" "${COMPREPLY[@]}"',
      ];
      await using bash = start("bash", ["-c", lines.join("\n")], { cwd: folder.path });
      expect(await bash.exit, bash.stderr).toBe(0);
      return bash.stdout.trim().split("\n");
    };
    expect(await complete("troupe", "ch")).toEqual(["check"]);
    expect(await complete("troupe", "serve", "--p")).toEqual(["--port"]);
    expect(await complete("troupe", "serve", "-c", "tw")).toEqual(["two words.json"]);
    expect(await complete("troupe", "run", "--agent", "")).toEqual(["writer"]);
    expect(await complete("troupe", "init", "--agent", "co")).toEqual(["codex"]);
    expect(await complete("troupe", "completion", "z")).toEqual(["zsh"]);
    expect(await complete("troupe", "help", "rep")).toEqual(["replay"]);
  });

  it.skipIf(!has("zsh"))("zsh can read its script", async () => {
    await using folder = await makeFolder();
    const file = await folder.write("_troupe", await script("zsh"));
    await using zsh = start("zsh", ["-n", file], { cwd: folder.path });
    expect([await zsh.exit, zsh.stderr]).toEqual([0, ""]);
  });

  it.skipIf(!has("fish"))("fish completes a command", async () => {
    await using folder = await makeFolder();
    const file = await folder.write("troupe.fish", await script("fish"));
    await using fish = start("fish", ["-c", `source ${file}; complete -C 'troupe ch'`], { cwd: folder.path });
    expect(await fish.exit).toBe(0);
    expect(fish.stdout).toMatch(/^check\t/);
  });

  it("a key on the keyboard runs no module, and says nothing of a config that is wrong", async () => {
    for (const [name, content] of [
      [
        "troupe.config.mjs",
        'import { writeFileSync } from "node:fs";\nwriteFileSync("ran", "");\nexport default {};\n',
      ],
      ["troupe.config.json", "{ oops"],
    ] as const) {
      await using folder = await makeFolder();
      await folder.write(name, content);
      await using command = troupe(["completion", "--agents"], { cwd: folder.path });
      expect([await command.exit, command.stdout, command.stderr]).toEqual([0, "", ""]);
      expect(existsSync(join(folder.path, "ran"))).toBe(false);
    }
  });
});
